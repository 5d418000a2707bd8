# Libraries to link with, so that a kernel loads on systems as old as a policy promises: the C and
# C++ libraries of the host compiler, cut down to the symbol versions that the policy allows, with
# the host's static code for the functions that are left out. Every kernel uses the same ones.
# nix/kernel/link.sh checks that a linked library keeps the policy.
{ linux, run }:
{
  # From host.nix.
  host,
  # The newest allowed version of each symbol family, e.g. { GLIBC = "2.28"; GLIBCXX = "3.4.24"; }.
  policy,
}:
run {
  name = "manylinux-libraries";
  script = ./manylinux.sh;
  parts = ./manylinux;
  tools = [ host.bin ];
  inherit (host) libraries;
  # The name of the loader, which also defines symbols.
  loader = baseNameOf linux.loader;
  inherit policy;
}
