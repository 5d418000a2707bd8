/**
  The outputs of a kernel's flake: packages, apps, shells and checks for every system that the kernel is built for.
  Where the kernel's folder has a build.nix, from `kernel-builder generate`, that is what is built; where it has none, a
  derivation generates it, with kernel-builder itself built from source.

  # Inputs

  `path`
  : The kernel's folder, e.g. `./.`.

  `self`
  : The kernel's flake. Nothing depends on its revision: a build is named after its content.

  `torchVersions` (optional)
  : The variants to have: a list of patterns such as `[ "torch211-*" ]`, or a function from the list of all builds, e.g.
    `builtins.filter (build: build.torchVersion == "2.11")`.

  `doGetKernelCheck` (optional, default `true`)
  : Whether checks load each variant with the `kernels` client.

  `pythonCheckInputs`, `pythonNativeCheckInputs` (optional)
  : Functions from a set of Python packages to a list of those that checks and shells have in addition. `kernel-builder
    pin-python` pins them in the kernel's python-packages.json.

  `rev` (deprecated)
  : Older flakes pass a revision and no `self`.

  # Example

  ```nix
  outputs = { self, kernel-builder }: kernel-builder.lib.genFlakeOutputs { inherit self; path = ./.; };
  ```
*/
import ../nix/flake
