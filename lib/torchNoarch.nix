/**
  One variant of a kernel that is Python alone, for one backend of torch. Called by the build.nix that
  `kernel-builder generate` writes. It needs no toolchain, and every system builds the same bytes.

  # Inputs

  The kernel (`name`, `root`, `manifest`), then the variant; nix/kernel/noarch.nix describes each attribute.

  # Result

  The variant's name and `packageOn`, which takes a system and returns the derivation of what is shipped.

  # Example

  ```nix
  kernelBuilder.torchNoarch {
    name = "relu";
    root = ./.;
    manifest = builtins.hashFile "sha256" ./build.toml;
  } {
    variant = "torch-cpu";
    bundle = true;
    id = {
      prefix = "_relu_cpu";
      salt = "";
      files = [ ];
    };
    python = {
      dir = "torch-ext/relu";
      extensions = [ "py" ];
    };
    metadata = { … };
  }
  ```
*/
import ../nix/kernel/noarch.nix (import ../nix/kernel/frameworks.nix).torchNoarch
