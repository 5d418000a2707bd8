/**
  Collects the variants of a kernel. Called by the build.nix that `kernel-builder generate` writes.

  # Inputs

  `name`
  : The kernel's name.

  `hub` (optional)
  : Where it is published: `repo-id` and `branch`.

  `variants`
  : A list of what `torchExtension`, `torchNoarch` and `tvmFfiExtension` return.

  # Result

  `{ name; hub; variants; packages; }`; nix/kernel/default.nix describes each.
*/
import ../nix/kernel
