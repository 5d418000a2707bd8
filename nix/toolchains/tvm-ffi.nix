# The parts of TVM's foreign function interface that an extension needs: C++ headers, and the
# library that it links.
{ name, pins }:
let
  # A tree of members of the wheel.
  tree = builtins.head (pins.family name);
in
{
  include = [ "${tree}/tvm_ffi/include" ];
  # A prefix that must not reach an object (the headers' macros expand __FILE__).
  prefix = "${tree}";
  # Folders of libraries to link with; the same for every compute.
  libraries = [ "${tree}/tvm_ffi/lib" ];
}
