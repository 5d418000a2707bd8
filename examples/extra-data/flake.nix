{
  description = "A kernel with data files";

  inputs.kernel-builder.url = "path:../..";

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
