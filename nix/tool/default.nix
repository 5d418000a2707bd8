# kernel-builder itself as a derivation: a static program that refers to no store path, so that it
# can be the builder of other derivations. `nix run <flake>#kernel-builder` starts it. It is built
# in three layers: crates (from Cargo.lock), compiled dependencies (from Cargo.lock and Cargo.toml),
# and our own sources.
{
  pins,
  run,
  # From ../system-recipes.nix: host compilers by name.
  hostTools,
  system,
}:
let
  root = ../..;
  names = builtins.fromJSON (builtins.readFile ./toolchain.json);
  inherit (import ./rust.nix { inherit hostTools pins run; }) host rust;

  locked = import ./locked.nix { inherit pins; } (root + "/Cargo.lock");
  crates = run {
    name = "kernel-builder-crates";
    script = ./crates.sh;
    archives = map (crate: crate.archive) locked;
    checksums = map (crate: crate.checksum) locked;
  };

  file =
    name:
    builtins.path {
      path = root + "/${name}";
      inherit name;
    };
  # Cargo.toml without its benchmarks, whose files are no part of the program.
  manifest = builtins.toFile "Cargo.toml" (
    builtins.concatStringsSep "\n\n" (
      builtins.filter (
        paragraph: builtins.isString paragraph && builtins.substring 0 9 paragraph != "[[bench]]"
      ) (builtins.split "\n\n" (builtins.readFile (root + "/Cargo.toml")))
    )
  );
  common = {
    inherit manifest;
    cargo = ./cargo.sh;
    inherit crates;
    tools = [
      rust
      host.bin
    ];
  };
  dependencies = run (
    common
    // {
      name = "kernel-builder-dependencies";
      script = ./dependencies.sh;
      lock = file "Cargo.lock";
    }
  );

  # The files and folders of the program: its code, and the files that it holds inside
  # (src/library.rs).
  sourceNames = [
    "Cargo.lock"
    "build.rs"
    "docs"
    "examples"
    "lib"
    "nix"
    "src"
    "templates"
  ];
  prefixLength = builtins.stringLength (toString root) + 1;
  sources = builtins.path {
    path = root;
    name = "kernel-builder-sources";
    filter =
      path: _:
      let
        relative = builtins.substring prefixLength (-1) path;
        parts = builtins.filter builtins.isString (builtins.split "/" relative);
        top = builtins.head parts;
        # The third part of a path in examples, the second in docs.
        name = builtins.elemAt parts (if top == "examples" then 2 else 1);
        isInside = builtins.length parts == (if top == "examples" then 3 else 2);
        # Builds of examples, and folders of docs that no guide for assistants has.
        unused = {
          examples = [
            "build"
            "build.nix"
            "result"
          ];
          docs = [
            "images"
            "measurements"
          ];
        };
      in
      builtins.elem top sourceNames && !(isInside && builtins.elem name (unused.${top} or [ ]));
  };
in
# NB: the library that a program unpacks has no sources of the program, and some systems have no
# pinned Rust.
if
  !builtins.pathExists (root + "/Cargo.lock")
  || !builtins.pathExists (../pins + "/${system}/${names.rust}.json")
then
  null
else
  run (
    common
    // {
      name = "kernel-builder-${import ../version.nix}";
      script = ./tool.sh;
      inherit dependencies sources;
      allowedReferences = [ ];
    }
  )
