/**
  One variant of a kernel that is a C++ extension of torch. Called by the build.nix that `kernel-builder generate`
  writes, which has resolved everything to files, flags and names of toolchains.

  # Inputs

  The kernel (`name`, `root`, `manifest`), then the variant; nix/kernel/extension.nix describes each attribute.

  # Result

  The variant's name, system and derivations: `package` (what is shipped), `library` and `objects` (what it is made of).
*/
import ../nix/kernel/extension.nix (import ../nix/kernel/frameworks.nix).torch
