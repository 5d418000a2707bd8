# The facts of each framework that the recipes of variants need.
{
  torch = {
    # The macro that holds the build's id where native code needs it.
    define = "TORCH_EXTENSION_NAME";
    # The header of macros that register operators.
    registration = ../../templates/torch/registration.h;
    # The template of the generated Python module _ops.py.
    ops = ../../templates/torch/_ops.py;
  };
  torchNoarch = {
    ops = ../../templates/torch-noarch/_ops.py;
  };
  tvmFfi = {
    define = "TVM_FFI_EXTENSION_NAME";
    registration = null;
    ops = ../../templates/tvm-ffi/_ops.py;
  };
}
