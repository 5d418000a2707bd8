# The check of a built variant: the real `kernels` client loads it, and it passes the kernel's own
# tests, on the CPU. A build has no GPU; tests that need one skip themselves.
{ run }:
{
  # The names of the kernel and of the variant.
  name,
  variant,
  backend,
  # From nix/kernel/package.nix.
  package,
  # From nix/python.
  environment,
  # The kernel's tests as a store path, or null.
  tests,
  # Whether the check runs the tests. If not, only `nix run .#ci-test` does, on a machine with a
  # GPU.
  runsTests,
  # The kernel's name in LOCAL_KERNELS (`repo-id`), or null.
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
