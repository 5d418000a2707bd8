/**
  The variants of a kernel as derivations. The build.nix that `kernel-builder generate` writes calls
  this function.

  # Inputs

  `name`, `root`
  : The kernel's name, and its folder.

  `framework`
  : The framework that binds the kernel's native code to Python: `"torch"` or `"tvmFfi"`.

  `variants`, `pythonVariants` (optional)
  : The rows of the release table that the kernel is compiled for, and its variants of Python files
    alone.

  nix/kernel/default.nix, nix/kernel/resolve.nix and nix/kernel/sources.nix describe the other
  inputs.

  # Result

  `variants` is a list of sets with the variant's name (`variant`), `backend`, `bundle` and, where
  native code is compiled, its `system` and derivations: `package` (the folder that is shipped), its
  `library`, and the `objects` that the library is linked from. `variantsOn` takes a system and
  returns the list of variants that this system builds.

  # Example

  ```nix
  (import ./build.nix { inherit kernelBuilder; }).variantsOn "x86_64-linux"
  ```
*/
import ../nix/kernel
