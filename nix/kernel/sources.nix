# Files of a kernel's folder as store paths that hold just them, so that a change of any other file changes nothing.
{ root }:
let
  absolute = path: root + "/${path}";
  prefixLength = builtins.stringLength (toString root) + 1;
  relative = path: builtins.substring prefixLength (-1) path;

  existing =
    path:
    if builtins.pathExists (absolute path) then
      path
    else
      throw "${path} is listed in build.nix and does not exist: run `kernel-builder generate` in the kernel's folder";

  # "a/b/c.h" -> [ "a" "a/b" ]
  parents =
    path:
    let
      parts = builtins.filter builtins.isString (builtins.split "/" path);
      count = builtins.length parts - 1;
    in
    builtins.genList (
      n: builtins.concatStringsSep "/" (builtins.genList (builtins.elemAt parts) (n + 1))
    ) count;
in
{
  file =
    path:
    builtins.path {
      path = absolute (existing path);
      name = "source";
    };

  # A folder with the listed files at their places.
  tree =
    paths:
    let
      wanted = builtins.listToAttrs (
        map (path: {
          name = path;
          value = null;
        }) (builtins.concatMap (path: [ (existing path) ] ++ parents path) paths)
      );
    in
    builtins.path {
      path = root;
      name = "headers";
      filter = path: _: wanted ? ${relative path};
    };

  # The files of a folder that have one of some extensions, at any depth, as paths from the kernel's folder.
  find =
    dir: extensions:
    let
      hasExtension =
        path:
        let
          matched = builtins.match ".*\\.([^.]*)" path;
        in
        matched != null && builtins.elem (builtins.head matched) extensions;
      walk =
        dir:
        let
          entries = builtins.readDir (absolute dir);
        in
        builtins.concatMap (
          entry:
          let
            path = "${dir}/${entry}";
          in
          if entries.${entry} == "directory" then
            (if entry == "__pycache__" then [ ] else walk path)
          else if hasExtension entry then
            [ path ]
          else
            [ ]
        ) (builtins.attrNames entries);
    in
    walk (existing dir);

  # Ten hex digits of a salt and of the paths and contents of files. src/plan/id.rs computes the same.
  hash =
    salt: paths:
    builtins.substring 0 10 (
      builtins.hashString "sha256" (
        builtins.concatStringsSep "\n" (
          [ salt ] ++ map (path: "${builtins.hashFile "sha256" (absolute (existing path))}  ${path}") paths
        )
      )
    );
}
