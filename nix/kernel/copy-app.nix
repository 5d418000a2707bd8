# A program that copies a bundle into ./build, for `nix run .#build-and-copy`.
{ run, seed }:
{ name, bundle }:
run {
  name = "${name}-build-and-copy";
  script = ./copy-app.sh;
  inherit bundle seed;
  program = ./build-and-copy.sh;
}
