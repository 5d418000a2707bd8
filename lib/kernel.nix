/**
  A kernel: its variants as derivations. Called by the build.nix that `kernel-builder generate` writes.

  # Inputs

  `name`, `root`
  : The kernel's name, and its folder.

  `framework`
  : What its native code is called through: `"torch"` or `"tvmFfi"`.

  `variants`, `pythonVariants` (optional)
  : The rows of the release table that it is compiled for, and its variants of Python files alone.

  The others are described in nix/kernel/resolve.nix and nix/kernel/sources.nix.

  # Result

  `variants` is a list of sets with the variant's name (`variant`), `backend`, `bundle` and, where native code is compiled,
  its `system` and derivations: `package` (what is shipped), `library` and `objects` (what it is made of). `on` takes a
  system and returns the list of variants that this system builds.

  # Example

  ```nix
  (import ./build.nix { inherit kernelBuilder; }).on "x86_64-linux"
  ```
*/
import ../nix/kernel
