# A development shell for one variant: its compilers, a Python with its torch, and kernel-builder.
# NB: nix/run.nix cannot make it, since `nix develop` of Nix 2.8 takes no derivation with structured
# attributes, and demands bash as the builder and a list of outputs.
{
  program,
  seed,
  system,
}:
{
  name,
  variant,
  # "dev", or "test" for a shell with the built variant instead of the variants in build/.
  kind,
  # From `toolchain` of ../system-recipes.nix.
  toolchain,
  # From nix/python.
  environment,
  # From nix/kernel/package.nix; null in development shells.
  package ? null,
  # The build id of the kernel as it is now; "" if its files are not those of build.nix.
  buildId,
  # The kernel's name in LOCAL_KERNELS (`repo-id`), or null.
  repo ? null,
  # kernel-builder, or null.
  tool ? null,
  # Names of Python packages that the kernel's flake asks for and that nobody has pinned.
  unpinned,
}:
let
  cuda = toolchain.cuda or null;
  # The compiler of CUDA code, if it is not nvcc.
  clang = toolchain.clang or null;
  programs = [
    environment
    toolchain.host.bin
  ]
  ++ (if tool == null then [ ] else [ tool ])
  ++ (if clang == null then [ ] else [ clang.bin ])
  ++ (if cuda == null then [ ] else [ cuda.toolkit ]);
  # A toolkit as CMake looks for one, by its nvcc.
  toolkitForCmake =
    if clang == null then
      cuda.toolkit
    else
      program {
        name = "nvcc";
        script = ./nvcc-for-cmake.sh;
        values.toolkit = "${cuda.toolkit}";
      };
in
derivation (
  {
    name = "${name}-${variant}-${kind}-shell";
    inherit system;
    outputs = [ "out" ];
    builder = "${seed}/bin/bash";
    args = [
      "-c"
      "echo shell >$out"
    ];
    PATH = builtins.concatStringsSep ":" (map (program: "${program}/bin") programs);
    CC = "gcc";
    CXX = "g++";
    KERNEL_BUILDER_VARIANT = variant;
    KERNEL_BUILDER_BUILD_ID = buildId;
    KERNEL_BUILDER_NAME = builtins.replaceStrings [ "-" ] [ "_" ] name;
    KERNEL_BUILDER_ENVIRONMENT = environment;
    KERNEL_BUILDER_SHELL = ./.;
    shellHook = ". $KERNEL_BUILDER_SHELL/enter.sh";
  }
  // (
    if unpinned == [ ] then
      { }
    else
      { KERNEL_BUILDER_UNPINNED = builtins.concatStringsSep " " unpinned; }
  )
  // (if repo == null then { } else { KERNEL_BUILDER_REPO = repo; })
  // (if package == null then { } else { KERNEL_BUILDER_PACKAGE = package; })
  // (
    # `find_package(Torch)` finds torch without a variable of the user's.
    if environment ? cmakePackages then { CMAKE_PREFIX_PATH = environment.cmakePackages; } else { }
  )
  // (
    if cuda == null then
      { }
    else
      {
        CUDA_HOME = cuda.toolkit;
        CUDAToolkit_ROOT = toolkitForCmake;
        CUDACXX = if clang == null then "${cuda.toolkit}/bin/nvcc" else "${clang.bin}/bin/clang++";
        CUDAHOSTCXX = "${toolchain.host.bin}/bin/g++";
        KERNEL_BUILDER_DRIVER = "nvidia";
      }
  )
  // (if clang == null then { } else { CMAKE_TOOLCHAIN_FILE = "${./.}/cmake/toolchain.cmake"; })
)
