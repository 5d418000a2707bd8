# Pins (nix/pins/<system>/<family>.json) as store paths.
# `kernel-builder fetch` puts the files in place; nothing here downloads.
{ system }:
let
  # Store names allow fewer characters than file names of packages. src/pins/mod.rs has the same rule.
  storeName = builtins.replaceStrings [ "%3a" "~" "%" "!" ] [ "_" "-" "_" "_" ];

  # A missing pin has no recipe. Nix then names the builder that it cannot run, so the builder says what to do: one line,
  # with no need of any program, sandbox or network.
  fixed =
    mode: name: hash:
    derivation {
      inherit name system;
      outputHash = hash;
      outputHashAlgo = "sha256";
      outputHashMode = mode;
      builder = "builtin:missing pin ${name}: run `kernel-builder fetch` in the kernel's folder";
    };
  archive = pin: fixed "flat" (storeName pin.file) pin.sha256;
  # Some members of one or more archives, as a tree.
  tree = pin: fixed "recursive" pin.name pin.sha256;
in
{
  # All pins of a family, in the order of its file: a list of derivations.
  family =
    name:
    let
      family = builtins.fromJSON (builtins.readFile (./pins + "/${system}/${name}.json"));
    in
    map archive family.archives ++ map tree family.trees;
}
