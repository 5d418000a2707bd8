/**
  `genFlakeOutputs` under the name that it has elsewhere.

  # Inputs

  Those of `genFlakeOutputs`.

  # Example

  ```nix
  outputs = { self, kernel-builder }: kernel-builder.lib.genKernelFlakeOutputs { inherit self; path = ./.; };
  ```
*/
import ./genFlakeOutputs.nix
