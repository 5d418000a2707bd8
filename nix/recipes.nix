# The recipes behind lib/, by system. They are no public interface; kernel repositories use lib/.
# NB: a value, not a function. Nix evaluates an imported file once, so variants share its values.
let
  entries = builtins.readDir ./pins;
in
builtins.listToAttrs (
  map (system: {
    name = system;
    value = import ./system-recipes.nix { inherit system; };
  }) (builtins.filter (name: entries.${name} == "directory") (builtins.attrNames entries))
)
