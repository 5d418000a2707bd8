# Tools and variables that many steps have in common -> one folder, whose scripts hold them. NB: an
# input of a derivation takes Nix longer than a kilobyte of its text.
{ run }:
{
  # The driver of the steps, e.g. "nvcc".
  name,
  # Files, by the names under which steps call them.
  scripts,
  tools,
  needsShell ? false,
  # Variables of the scripts: strings, or lists of them.
  values,
}:
run (
  values
  // {
    name = "${name}-environment";
    script = ./environment.sh;
    # NB: src/steps recognizes environments by this attribute.
    environmentOf = name;
    inherit needsShell tools;
    variables = builtins.attrNames values;
    scriptNames = builtins.attrNames scripts;
    scriptFiles = map (name: "${scripts.${name}}") (builtins.attrNames scripts);
    start = ../run.sh;
  }
)
