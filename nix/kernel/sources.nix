# Files of a kernel's folder as store paths that hold these files alone, so that a derivation
# changes only with its own files. NB: called once for each kernel, so that variants share its
# values.
{
  # The folder that every path is relative to.
  root,
  # sha256 (hex) of the build.toml that build.nix was generated from.
  manifest,
  # The folders in which compilers look for headers, and a digest of the names of their files when
  # build.nix was generated; null if no unit is compiled.
  listing ? null,
  # Sources and headers by path: a digest of the lines that include others, and the files that they
  # include.
  files ? { },
  # Paths of files that are not text.
  binary ? [ ],
  ...
}:
let
  concatMapStrings = make: list: builtins.concatStringsSep "" (map make list);
  absolute = path: root + "/${path}";
  prefixLength = builtins.stringLength (toString root) + 1;
  relative = path: builtins.substring prefixLength (-1) path;

  cure = "run `kernel-builder generate` in the kernel's folder";
  requireExisting =
    path:
    if builtins.pathExists (absolute path) then
      path
    else
      throw "${path} is listed in build.nix and does not exist: ${cure}; in a git repository, Nix sees only what git knows: `git add ${path}`";
  # Returns its argument if build.nix was generated from the files as they are now, else throws.
  requireCurrent =
    if builtins.hashFile "sha256" (absolute "build.toml") != manifest then
      throw "build.nix is older than build.toml: ${cure}"
    else if
      listing != null
      && builtins.hashString "sha256" (builtins.concatStringsSep "\n" listedPaths) != listing.digest
    then
      throw "build.nix does not know every file below ${builtins.concatStringsSep ", " listing.folders} that may be included: ${cure}"
    else
      value: value;
  # Paths of the files that an `#include` may find. `HeaderListing` of src/plan/types.rs has a
  # digest of the same.
  listedPaths = builtins.concatMap (
    dir: if builtins.pathExists (absolute dir) then listedPathsBelow dir else [ ]
  ) listing.folders;
  listedPathsBelow =
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
        listedPathsBelow path
      else if builtins.match "[^.]*|.*[.](${extensions})" entry != null then
        [ path ]
      else
        [ ]
    ) (builtins.attrNames entries);
  # Names in the kernel's folder that builds leave behind.
  leftBehind = [
    "build"
    "result"
    "venv"
  ];
  # The extensions of headers and sources, as in src/kernel/source.rs.
  extensions = "h|hh|hpp|hxx|cuh|inc|inl|ipp|tcc|tpp|def|c|cc|cpp|cxx|cu|hip|metal|mm";

  # The folders of a path: "a/b/c.h" -> [ "a" "a/b" ]
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
        }) (builtins.concatMap (path: [ (requireExisting path) ] ++ parents path) paths)
      );
    in
    builtins.path {
      path = root;
      name = "headers";
      filter = path: _: wanted ? ${relative path};
    };

  # The words of an entry of `files`, which is a list if a word has blanks.
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

  # Each of `files` as a store path, `stored`, and as a line of the text that `hash` hashes. NB: Nix
  # adds a text to the store in less time than a file, which saves a fifth of the evaluation of a
  # large kernel.
  storedFiles = builtins.mapAttrs (path: _: storeFile path) files;
  storeFile =
    path:
    let
      text = builtins.readFile (absolute (requireExisting path));
    in
    if builtins.elem path binary then
      {
        stored = builtins.path {
          path = absolute (requireExisting path);
          name = "source";
        };
        line = lineOf path;
      }
    else
      {
        stored = builtins.toFile "source" text;
        line = "${builtins.hashString "sha256" text}  ${path}";
      };
  lineFor = path: storedFiles.${path}.line or (lineOf path);
  lineOf = path: "${builtins.hashFile "sha256" (absolute (requireExisting path))}  ${path}";

  # The inputs of a unit that reaches some headers: a list of them as one file and, if they are
  # many, a tree of them. NB: Nix spends most of the time of a derivation on its inputs. For each
  # tree it reads the whole folder, so a small number of headers is added one by one.
  headerInputs =
    headers:
    let
      isFew = builtins.length headers <= import ./input-limit.nix;
      # A line as includes.sh reads it.
      line = path: "${digests.${path}} ${if isFew then storedFiles.${path}.stored else "-"} ${path}\n";
    in
    {
      headers = if headers == [ ] then "" else builtins.toFile "includes" (concatMapStrings line headers);
      headerTree = if isFew then "" else tree headers;
    };
  # The units of a section by source: `inputs`, the files that the unit is compiled from, and
  # `reached`, the paths of the headers that it includes, directly or not.
  unitsOf =
    section:
    let
      edgesOfSection = edges // builtins.mapAttrs (_: edgesOf) (section.files or { });
      # The headers that a source reaches, sorted.
      reached =
        source:
        builtins.filter (path: path != source) (
          builtins.sort builtins.lessThan (
            map (file: file.key) (
              builtins.genericClosure {
                startSet = [ { key = source; } ];
                operator = file: map (key: { inherit key; }) edgesOfSection.${file.key};
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
          value = headerInputs headers;
        }) (builtins.attrValues headersOf)
      );
    in
    builtins.mapAttrs (source: headers: {
      reached = headers;
      inputs = lists.${key headers} // {
        file = storedFiles.${source}.stored;
        digest = digests.${source};
      };
    }) headersOf;

in
{
  inherit requireCurrent tree;

  # The units of some sections, by section and source.
  units =
    sections:
    builtins.listToAttrs (
      map (section: {
        name = section.key;
        value = unitsOf section;
      }) sections
    );

  # The files of a folder that have one of some extensions, at any depth, as paths from the kernel's
  # folder.
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
    walk (requireExisting dir);

  # A file with the sha256 and the path of some files, in sha256sum's form.
  list = paths: builtins.toFile "hashes" (concatMapStrings (path: lineFor path + "\n") paths);

  # The first ten hex digits of a hash of a salt and of the paths and contents of files.
  # src/plan/id.rs computes the same.
  hash =
    salt: paths:
    builtins.substring 0 10 (
      builtins.hashString "sha256" (builtins.concatStringsSep "\n" ([ salt ] ++ map lineFor paths))
    );
}
