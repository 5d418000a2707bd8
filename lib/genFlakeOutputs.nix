/**
  The outputs of a kernel's flake: packages, apps, shells and checks for every system that the
  kernel is built for. They are made from the build.nix in the kernel's folder, which
  `kernel-builder generate` writes. Where it is missing, a derivation generates it with
  kernel-builder, which is then built from source.

  # Inputs

  `path`
  : The kernel's folder, e.g. `./.`.

  `self`
  : The kernel's flake. What it builds says the flake's revision (metadata.json); no step that
    compiles, links or packs depends on it.

  `torchVersions` (optional)
  : The variants that the outputs have: a list of patterns such as `[ "torch211-*" ]`, or a function
    from the list of all builds, e.g. `builtins.filter (build: build.torchVersion == "2.11")`.

  `doGetKernelCheck` (optional, default `true`)
  : Whether checks load each variant with the `kernels` client.

  `pythonCheckInputs`, `pythonNativeCheckInputs` (optional)
  : Functions from a set of Python packages to a list of the packages that checks and shells get in
    addition. `kernel-builder pin-python` pins them in the kernel's python-packages.json.

  `rev` (deprecated)
  : A revision. Older flakes pass it instead of `self`; it has no effect, so that builds do not say
    theirs.

  # Example

  ```nix
  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genFlakeOutputs {
      inherit self;
      path = ./.;
    };
  ```
*/
import ../nix/flake
