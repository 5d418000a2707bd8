/**
  Collects the variants of a kernel. Called by the build.nix that `kernel-builder generate` writes.

  # Inputs

  `name`
  : The kernel's name.

  `variants`
  : A list of what `torchExtension`, `torchNoarch` and `tvmFfiExtension` return.

  # Result

  `{ name; systems; packages; redistributable; copyApp; }`; nix/kernel/default.nix describes each.
*/
import ../nix/kernel
