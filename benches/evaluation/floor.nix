# The least that Nix must do for as many derivations as a kernel has: bare ones with the same number
# of inputs, the same inputs among each other, and texts of the same length. For
# benches/evaluation/main.rs.
{
  # A file of JSON: `derivations` as a list of [ <bytes> <numbers of derivations> <numbers of
  # sources> ], `sources` as their bytes, and `roots` as numbers of derivations.
  sizes,
}:
let
  inherit (builtins) elemAt genList length;
  graph = builtins.fromJSON (builtins.readFile sizes);
  doubled = text: if builtins.stringLength text > 2000000 then text else doubled (text + text);
  padding = doubled "0123456789abcdef";
  text = bytes: builtins.substring 0 (if bytes < 0 then 0 else bytes) padding;
  numbered =
    n: list: make:
    genList (n: make n (elemAt list n)) n;

  sources = numbered (length graph.sources) graph.sources (
    n: bytes: builtins.toFile "source" (toString n + text (bytes - 6))
  );
  derivations = numbered (length graph.derivations) graph.derivations (
    n: row:
    let
      needs = map (elemAt derivations) (elemAt row 1) ++ map (elemAt sources) (elemAt row 2);
      # An input is named twice, as one and in the attribute; the rest is what every derivation has.
      own = 400 + 130 * length needs;
    in
    derivation {
      name = "step-${toString n}";
      system = "x86_64-linux";
      builder = "/bin/sh";
      inherit needs;
      text = text (elemAt row 0 - own);
    }
  );
in
map (n: (elemAt derivations n).drvPath) graph.roots
