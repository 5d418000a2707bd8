# Files of a kernel's folder as store paths that hold just them, so that a change of any other file changes nothing.
# NB: called once for each kernel, so that variants share what is in it.
{
  # The folder that every path is relative to.
  root,
  # sha256 (hex) of the build.toml that build.nix was generated from.
  manifest,
  # Folders in which compilers look for headers, and a digest of the names of the files that they then had; null where
  # nothing is compiled.
  listing ? null,
  # Sources and headers: a digest of the lines that include others, and the files that they include.
  files ? { },
  # Files that are not text.
  binary ? [ ],
  ...
}:
let
  concatMapStrings = make: list: builtins.concatStringsSep "" (map make list);
  absolute = path: root + "/${path}";
  prefixLength = builtins.stringLength (toString root) + 1;
  relative = path: builtins.substring prefixLength (-1) path;

  run = "run `kernel-builder generate` in the kernel's folder";
  existing =
    path:
    if builtins.pathExists (absolute path) then
      path
    else
      throw "${path} is listed in build.nix and does not exist: ${run}";
  # A value that only a build.nix of these files may have.
  fresh =
    if builtins.hashFile "sha256" (absolute "build.toml") != manifest then
      throw "build.nix is older than build.toml: ${run}"
    else if
      listing != null
      && builtins.hashString "sha256" (builtins.concatStringsSep "\n" names) != listing.digest
    then
      throw "build.nix does not know every file below ${builtins.concatStringsSep ", " listing.folders} that may be included: ${run}"
    else
      value: value;
  # What `Listing` of src/plan/headers.rs has a digest of.
  names = builtins.concatMap (
    dir: if builtins.pathExists (absolute dir) then below dir else [ ]
  ) listing.folders;
  below =
    dir:
    let
      entries = builtins.readDir (absolute dir);
    in
    builtins.concatMap (
      entry:
      let
        path = if dir == "." then entry else "${dir}/${entry}";
      in
      if builtins.substring 0 1 entry == "." || dir == "." && builtins.elem entry leftBehind then
        [ ]
      else if entries.${entry} == "directory" then
        below path
      else if builtins.match "[^.]*|.*[.](${extensions})" entry != null then
        [ path ]
      else
        [ ]
    ) (builtins.attrNames entries);
  leftBehind = [
    "build"
    "result"
    "venv"
  ];
  # Of headers and of sources, as in src/kernel/source.rs.
  extensions = "h|hh|hpp|hxx|cuh|inc|inl|ipp|tcc|tpp|def|c|cc|cpp|cxx|cu|hip|metal|mm";

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

  # The words of an entry of `files`; those with blanks are in a list.
  words =
    entry:
    if builtins.isList entry then
      entry
    else
      builtins.filter builtins.isString (builtins.split " " entry);
  digestOf = entry: builtins.head (words entry);
  edgesOf = entry: builtins.tail (words entry);
  digests = builtins.mapAttrs (_: digestOf) files;
  edges = builtins.mapAttrs (_: edgesOf) files;

  # Each file by itself: its store path and what a hash of some files has of it. NB: as texts, which Nix takes
  # into the store in less time than files: a fifth of all of the evaluation of a large kernel.
  native = builtins.mapAttrs (path: _: nativeFile path) files;
  nativeFile =
    path:
    let
      text = builtins.readFile (absolute (existing path));
    in
    if builtins.elem path binary then
      {
        stored = builtins.path {
          path = absolute (existing path);
          name = "source";
        };
        line = lineOf path;
      }
    else
      {
        stored = builtins.toFile "source" text;
        line = "${builtins.hashString "sha256" text}  ${path}";
      };
  lineOf = path: "${builtins.hashFile "sha256" (absolute (existing path))}  ${path}";

  # Headers -> what units that reach just these have of them: a list, as one input, and a tree of many headers. NB: inputs
  # are most of the time that Nix takes for a derivation. Each tree makes Nix look at the whole folder, so few headers are
  # copied one by one.
  listed =
    headers:
    let
      isFew = builtins.length headers <= import ./input-limit.nix;
      # For includes.sh.
      line = path: "${digests.${path}} ${if isFew then native.${path}.stored else "-"} ${path}\n";
    in
    {
      headers = if headers == [ ] then "" else builtins.toFile "includes" (concatMapStrings line headers);
      headerTree = if isFew then "" else tree headers;
    };
  # The units of a section, by source: what each is compiled from, and `reached`, the headers that it includes, directly or not.
  unitsOf =
    section:
    let
      edgesThere = edges // builtins.mapAttrs (_: edgesOf) (section.files or { });
      # In the order of their names.
      reached =
        source:
        builtins.filter (path: path != source) (
          builtins.sort builtins.lessThan (
            map (file: file.key) (
              builtins.genericClosure {
                startSet = [ { key = source; } ];
                operator = file: map (key: { inherit key; }) edgesThere.${file.key};
              }
            )
          )
        );
      groups =
        if builtins.isAttrs section.units then
          builtins.attrValues (builtins.head (builtins.attrValues section.units))
        else
          [ section.units ];
      sources = builtins.concatMap (group: group.sources) (builtins.concatLists groups);
      key = builtins.concatStringsSep "\n";
      headersOf = builtins.listToAttrs (
        map (name: {
          inherit name;
          value = reached name;
        }) sources
      );
      lists = builtins.listToAttrs (
        map (headers: {
          name = key headers;
          value = listed headers;
        }) (builtins.attrValues headersOf)
      );
    in
    builtins.mapAttrs (source: headers: {
      reached = headers;
      inputs = lists.${key headers} // {
        file = native.${source}.stored;
        digest = digests.${source};
      };
    }) headersOf;

in
{
  inherit fresh tree;

  # The units of some sections, by section and source.
  units =
    sections:
    builtins.listToAttrs (
      map (section: {
        name = section.key;
        value = unitsOf section;
      }) sections
    );

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
        builtins.concatStringsSep "\n" ([ salt ] ++ map (path: native.${path}.line or (lineOf path)) paths)
      )
    );
}
