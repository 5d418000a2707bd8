/**
  `genFlakeOutputs`, under the name that flakes for other builders call.

  # Inputs

  The inputs of `genFlakeOutputs`.

  # Example

  ```nix
  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
  ```
*/
import ./genFlakeOutputs.nix
