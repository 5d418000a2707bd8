# The program that checks native files (program/check.py), and the names that pinned libraries
# define. scripts/abi-tables.py makes the data.
{
  # The Python that runs it; null on macOS, which has no pinned one.
  interpreter,
  system,
}:
let
  inherit (builtins.fromJSON (builtins.readFile ./symbols/lists.json)) lists;
  # The files of a list, the oldest first: each holds what changed since its base.
  files =
    key:
    if key == null || !(lists ? ${key}) then
      [ ]
    else
      files (lists.${key}.base or null) ++ [ (./symbols + "/${key}.gz") ];
  ofFamily = family: if family == null then [ ] else files "${system}/${family}";
in
{
  inherit interpreter;

  # The attributes of a step that runs the program for a variant.
  arguments =
    { toolchain, variant }:
    let
      cxxAbi = if builtins.match ".*-cxx98-.*" variant == null then "cxx11" else "cxx98";
      isStable = builtins.match "torch-stable-abi.*" variant != null;
    in
    if interpreter == null then
      { abi = ""; }
    else
      {
        # The program with its tables. NB: the lists are no part of it, so that a list of a new
        # release links nothing again.
        abi = builtins.path {
          name = "abi";
          path = ./.;
          filter =
            path: _:
            !builtins.elem (baseNameOf path) [
              "__pycache__"
              "default.nix"
              "symbols"
            ];
        };
        # The files of names that the variant's files may leave undefined, and whether they have all
        # names of torch's libraries.
        names = toolchain.names.files;
        wholeNames = if toolchain.names.isWholeFor cxxAbi then "yes" else "";
        # torch's C functions for extensions that keep its stable ABI.
        shim = if isStable then ./symbols/torch-shim.json else "";
      };

  # The files of names for the families of a toolchain, and whether they have all names of torch's
  # libraries for a C++ ABI. A vendor's torch has no list, nor have the libraries of NVIDIA's that
  # it comes with.
  names =
    {
      torch ? null,
      cuda ? null,
      ...
    }:
    {
      files =
        ofFamily torch
        ++ ofFamily (if torch == null || cuda == null then null else "${torch}-nvidia")
        ++ ofFamily cuda;
      isWholeFor = cxxAbi: torch != null && (lists."${system}/${torch}" or { }).cxx-abi or null == cxxAbi;
    };
}
