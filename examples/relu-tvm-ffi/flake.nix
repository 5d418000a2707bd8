{
  description = "ReLU for CPU and CUDA, through TVM's foreign function interface";

  inputs.kernel-builder.url = "path:../..";

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genFlakeOutputs {
      inherit self;
      path = ./.;
      # Its tests load the kernel through this package (python-packages.json).
      pythonCheckInputs = packages: [ packages.apache-tvm-ffi ];
    };
}
