# What one variant is besides its package: a check, the same as a program, and two shells. Without a pinned Python for the
# system there are neither programs nor shells, and the check is that it builds.
{
  name,
  hub,
  # The kernel's folder.
  root,
  # From ../recipes.nix, for the variant's system.
  recipes,
  # For shells: kernel-builder, or null.
  tool,
  doGetKernelCheck ? true,
  # Functions from Python packages by name to a list of them.
  pythonInputs ? [ ],
  # From ./python-packages.nix.
  pythonPackages,
}:
variant:
let
  inherit (variant) backend package;
  tools =
    if variant ? toolchain then
      recipes.toolchain variant.toolchain
    else
      {
        host = recipes.hostTools (builtins.fromJSON (builtins.readFile ../python/toolchain.json)).host;
      };
  pythonWith =
    inputs:
    recipes.python {
      inherit inputs;
      inherit (pythonPackages) words;
      toolchain = variant.toolchain or { };
      archives = pythonPackages.archives recipes.system;
    };
  # The Python of checks and tests, which fail without a package that they ask for.
  python = pythonWith pythonInputs;
  # The Python of shells, which open without the packages that nobody has pinned: pip can install them there.
  shellPython = pythonWith [ ];
  cuda = tools.cuda or null;
  # A build has no GPU, a person may have one.
  onCpu =
    python:
    python.cpu {
      cudart = if cuda == null then null else "${cuda.toolkit}/lib64/libcudart.so.*";
      triton = builtins.elem backend python.tritonBackends;
    };
  here =
    python:
    if !python.hasTorch then
      python.withoutTorch
    else if backend == "cuda" && python.hasNvidia then
      python.cuda
    else
      onCpu python;
  # Other libraries than torch's may need a GPU.
  loads = python.isPinned && python.hasTorch && (variant ? toolchain.torch || !(variant ? toolchain));

  repo = hub.repo-id or null;
  tests =
    if builtins.pathExists (root + "/tests") then
      builtins.path {
        path = root + "/tests";
        name = "tests";
        filter = path: _: baseNameOf path != "__pycache__";
      }
    else
      null;
  shell =
    kind: package:
    recipes.shell {
      inherit
        kind
        name
        package
        repo
        tool
        ;
      inherit (variant) variant;
      toolchain = tools;
      environment = here shellPython;
      unpinned = python.missing;
    };
in
{
  check =
    if doGetKernelCheck && loads then
      recipes.check {
        inherit
          backend
          name
          package
          repo
          tests
          ;
        inherit (variant) variant;
        environment = onCpu python;
        # Tests of compiled kernels skip what needs a GPU. A kernel of Python alone for a GPU has no other tests.
        runsTests = variant ? toolchain || backend == "cpu";
      }
    else
      package;
  hasPython = python.isPinned;
  test = recipes.testProgram {
    inherit package repo tests;
    environment = here python;
  };
  devShell = shell "dev" null;
  testShell = shell "test" package;
  client = recipes.program {
    name = "kernels";
    script = ./kernels.sh;
    values.environment = "${python.client}";
  };
}
