# The least work of Nix for as many derivations as a kernel has, for benches/evaluation/main.rs.
# These bare derivations have the same number of inputs, the same inputs among each other, and texts
# of the same length.
{
  # A JSON file: `derivations`, a list of [ <bytes> <indexes of derivations> <indexes of sources> ];
  # `sources`, a list of bytes; and `roots`, indexes of derivations.
  sizes,
}:
let
  inherit (builtins) elemAt genList length;
  graph = builtins.fromJSON (builtins.readFile sizes);
  # Texts of 16 bytes, 32 bytes and so on, with their lengths. NB: Nix 2.8 copies the whole text to
  # take a piece of it or to measure it, so each piece is taken of the shortest text.
  paddings =
    builtins.foldl'
      (
        all: _:
        let
          last = elemAt all (length all - 1);
        in
        all
        ++ [
          {
            bytes = 2 * last.bytes;
            text = last.text + last.text;
          }
        ]
      )
      [
        {
          bytes = 16;
          text = "0123456789abcdef";
        }
      ]
      (genList (n: n) 18);
  text =
    bytes:
    if bytes <= 0 then
      ""
    else
      builtins.substring 0 bytes
        (builtins.head (builtins.filter (padding: padding.bytes >= bytes) paddings)).text;
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
      # The text names each input twice, as an input and in the attribute `needs`. Every derivation
      # has the other bytes.
      bytesWithoutText = 400 + 130 * length needs;
    in
    derivation {
      name = "step-${toString n}";
      system = "x86_64-linux";
      builder = "/bin/sh";
      inherit needs;
      text = text (elemAt row 0 - bytesWithoutText);
    }
  );
in
map (n: (elemAt derivations n).drvPath) graph.roots
