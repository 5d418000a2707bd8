# The extras of a variant besides its package: a check, its tests as a program, and two shells.
# Where no Python is pinned for the system, there are neither programs nor shells, and the check is
# the package itself.
{
  name,
  hub,
  # The kernel's folder.
  root,
  # From ../recipes.nix, for the variant's system.
  recipes,
  # The kernel-builder of shells, or null.
  tool,
  doGetKernelCheck ? true,
  # Functions from a set of Python packages to a list of some of them.
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
  # The Python of checks and tests. They fail without a package that they ask for.
  python = pythonWith pythonInputs;
  # The Python of shells. They open without the packages that nobody has pinned: pip can install
  # those there.
  shellPython = pythonWith [ ];
  cuda = tools.cuda or null;
  # A Python whose torch runs on the CPU, for checks: a build has no GPU.
  onCpu =
    python:
    python.cpu {
      hasCuda = backend == "cuda";
      cudart = if cuda == null then null else "${cuda.toolkit}/lib64/libcudart.so.*";
      triton = builtins.elem backend python.tritonBackends;
    };
  # A Python whose torch runs on this machine, for programs and shells: a person may have a GPU.
  onThisMachine =
    python:
    if !python.hasTorch then
      python.withoutTorch
    else if backend == "cuda" && python.hasNvidia then
      python.cuda
    else
      onCpu python;
  # Whether a check can load the variant. Libraries for another framework than torch may need a GPU.
  canLoad =
    python.isPinned && python.hasTorch && (variant ? toolchain.torch || !(variant ? toolchain));

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
      environment = onThisMachine shellPython;
      # NB: a shell opens while a file that build.nix names is missing.
      buildId =
        let
          attempt = builtins.tryEval variant.buildId;
        in
        if attempt.success then attempt.value else "";
      unpinned = python.missing;
    };
in
{
  check =
    if doGetKernelCheck && canLoad then
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
        # Tests of compiled kernels that need a GPU skip themselves. A kernel of Python alone for a
        # GPU has no other tests.
        runsTests = variant ? toolchain || backend == "cpu";
      }
    else
      package;
  hasPython = python.isPinned;
  test = recipes.testProgram {
    inherit package repo tests;
    environment = onThisMachine python;
  };
  devShell = shell "dev" null;
  testShell = shell "test" package;
  client = recipes.program {
    name = "kernels";
    script = ./kernels.sh;
    values.environment = "${python.client}";
  };
}
