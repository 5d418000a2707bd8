# The words of the flake.nix that a kernel's folder belongs to: everything in it that may be the name of a variable. Empty
# where there is no flake.nix.
{ root }:
let
  find =
    folder:
    let
      parent = dirOf folder;
    in
    if builtins.pathExists (folder + "/flake.nix") then
      [ (builtins.readFile (folder + "/flake.nix")) ]
    else if parent == folder || toString parent == builtins.storeDir then
      [ ]
    else
      find parent;
in
builtins.concatMap (
  text:
  builtins.filter (word: builtins.isString word && word != "") (
    builtins.split "[^a-zA-Z0-9_'-]+" text
  )
) (find root)
