# Tools and attributes that many steps have in common -> one folder of scripts that know them. NB:
# for each input of a derivation Nix takes longer than for a kilobyte of its text.
{ run }:
{
  # "nvcc"
  name,
  # Files by the name that steps call them by.
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
    # NB: src/steps knows environments by it.
    environmentOf = name;
    inherit needsShell tools;
    variables = builtins.attrNames values;
    scriptNames = builtins.attrNames scripts;
    scriptFiles = map (name: "${scripts.${name}}") (builtins.attrNames scripts);
    start = ../run.sh;
  }
)
