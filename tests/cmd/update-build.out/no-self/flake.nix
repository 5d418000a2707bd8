{
  outputs =
    { kernel-builder, ... }:
    kernel-builder.lib.genFlakeOutputs {
      path = ./.;
      rev = "1";
    };
}
