{
  description = "ReLU through the stable ABI of torch";

  inputs.kernel-builder.url = "path:../..";

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
