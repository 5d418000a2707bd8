# What `nix fmt` runs: the formatter of Nix files inside of kernel-builder.
{ recipes }:
recipes.program {
  name = "nix-formatter";
  script = ./formatter.sh;
  values.tool = "${recipes.tool}";
}
