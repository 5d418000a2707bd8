# Several variants in one folder: what is uploaded, and what `kernels.get_local_kernel` takes.
{ run }:
{ name, variants }:
run {
  name = "${name}-bundle";
  script = ./bundle.sh;
  inherit variants;
}
