# The kernel's own tests as a program, for machines that have a GPU: `nix run .#ci-test`.
{ program }:
{
  package,
  # From nix/python.
  environment,
  # As in ./default.nix.
  tests,
  repo,
}:
program {
  name = "ci-test";
  script = ./ci-test.sh;
  values = {
    environment = "${environment}";
    package = "${package}";
    tests = if tests == null then "" else "${tests}";
    repo = if repo == null then "" else repo;
    driver = "${../shell/driver.sh}";
  };
}
