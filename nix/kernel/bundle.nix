# Several variants in one folder, which can be uploaded, and which `kernels.get_local_kernel` loads
# from.
{ run }:
{ name, variants }:
run {
  name = "${name}-bundle";
  script = ./bundle.sh;
  inherit variants;
}
