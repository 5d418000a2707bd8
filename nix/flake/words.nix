# The words of a kernel's flake.nix that may be names of variables. The file lies in the kernel's
# folder or the nearest one above it; the list is empty where there is none.
{ root }:
let
  textsFrom =
    folder:
    let
      parent = dirOf folder;
    in
    if builtins.pathExists (folder + "/flake.nix") then
      [ (builtins.readFile (folder + "/flake.nix")) ]
    else if parent == folder || toString parent == builtins.storeDir then
      [ ]
    else
      textsFrom parent;
in
builtins.concatMap (
  text:
  builtins.filter (word: builtins.isString word && word != "") (
    builtins.split "[^a-zA-Z0-9_'-]+" text
  )
) (textsFrom root)
