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
  python = recipes.python {
    toolchain = variant.toolchain or { };
    inputs = pythonInputs;
  };
  cuda = tools.cuda or null;
  # A build has no GPU, a person may have one.
  onCpu = python.cpu {
    cudart = if cuda == null then null else "${cuda.toolkit}/lib64/libcudart.so.*";
  };
  here =
    if !python.hasTorch then
      python.client
    else if backend == "cuda" && python.hasNvidia then
      python.cuda
    else
      onCpu;
  # What is compiled loads without a GPU; Python alone may need one (Triton), and other libraries than torch.
  loads =
    python.isPinned
    && python.hasTorch
    && (variant ? toolchain.torch || !(variant ? toolchain) && backend == "cpu");

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
      environment = here;
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
        environment = onCpu;
      }
    else
      package;
  hasPython = python.isPinned;
  test = recipes.testProgram {
    inherit package repo tests;
    environment = here;
  };
  devShell = shell "dev" null;
  testShell = shell "test" package;
  client = recipes.program {
    name = "kernels";
    script = ./kernels.sh;
    values.environment = "${python.client}";
  };
}
