# Whether a built variant loads in the real `kernels` client and passes the kernel's own tests, on
# the CPU: a build has no GPU. Tests that need one skip themselves.
{ run }:
{
  # Kernel and variant.
  name,
  variant,
  backend,
  # From nix/kernel/package.nix.
  package,
  # From nix/python.
  environment,
  # The kernel's tests as a store path, or null.
  tests,
  # Whether they can run here, or only `nix run .#ci-test` on a machine with a GPU.
  runsTests,
  # How LOCAL_KERNELS calls it, or null.
  repo,
}:
run {
  name = "${name}-${variant}-check";
  script = ./check.sh;
  load = ./load.py;
  disguise = ./backend_of_torch.py;
  inherit backend package variant;
  module = builtins.replaceStrings [ "-" ] [ "_" ] name;
  tests = if tests == null || !runsTests then "" else tests;
  untested = if tests == null || runsTests then "" else "1";
  repo = if repo == null then "" else repo;
  tools = [ environment ];
}
