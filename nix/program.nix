# A script -> the program $out/bin/<name> that `nix run` starts. It gets a shebang, and a value for
# each @key@ in it.
{ run, seed }:
{
  name,
  # Another name of the program, if it has one.
  alias ? "",
  # The script, a file without a shebang.
  script,
  values ? { },
}:
run {
  inherit alias name;
  script = ./program.sh;
  program = script;
  values = {
    seed = "${seed}";
  }
  // values;
}
