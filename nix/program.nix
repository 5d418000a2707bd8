# A script -> $out/bin/<name>, with a shebang and with values for each @key@ in it: what `nix run`
# starts.
{ run, seed }:
{
  name,
  # The file without a shebang.
  script,
  values ? { },
}:
run {
  inherit name;
  script = ./program.sh;
  program = script;
  values = {
    seed = "${seed}";
  }
  // values;
}
