# The recipes behind lib/, by system. Not a public interface; kernel repositories use lib/.
# NB: a value, not a function: Nix evaluates a file once, so variants share what is in it.
let
  entries = builtins.readDir ./pins;
in
builtins.listToAttrs (
  map (system: {
    name = system;
    value = import ./recipes-of.nix { inherit system; };
  }) (builtins.filter (name: entries.${name} == "directory") (builtins.attrNames entries))
)
