# The recipes of every system with pins, by Nix's name of it. NB: a value, not a function: Nix evaluates a file once, so
# that variants share what is in it.
let
  entries = builtins.readDir ./pins;
in
builtins.listToAttrs (
  map (system: {
    name = system;
    value = import ./recipes-of.nix { inherit system; };
  }) (builtins.filter (name: entries.${name} == "directory") (builtins.attrNames entries))
)
