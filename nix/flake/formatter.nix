# The program that `nix fmt` runs: kernel-builder's own formatter of Nix files.
{ recipes }:
recipes.program {
  name = "nix-formatter";
  script = ./formatter.sh;
  values.tool = "${recipes.tool}";
}
