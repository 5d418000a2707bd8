# Files of a kernel's folder as store paths that hold just them, so that a change of any other file changes nothing.
# NB: called once for each kernel, so that variants share what is in it.
{
  # The folder that every path is relative to.
  root,
  # sha256 (hex) of the build.toml that build.nix was generated from.
  manifest,
  # Folders in which compilers look for headers, and a digest of the names that they then had.
  listing,
  # For some lists of folders to `include`: digests of what says in each file what it includes, the files that some include, and
  # those that are not text.
  searches,
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
    else if builtins.hashString "sha256" (builtins.concatStringsSep "\n" names) != listing.digest then
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

  # Each file of the searches, by itself: its store path and what a hash of some files has of it. NB: as texts, which Nix takes
  # into the store in less time than files: a fifth of all of the evaluation of a large kernel.
  native = builtins.foldl' (
    all: search: all // builtins.mapAttrs (path: _: nativeFile search path) search.digests
  ) { } searches;
  nativeFile =
    search: path:
    let
      text = builtins.readFile (absolute (existing path));
    in
    if builtins.elem path search.binary then
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
  # A search, with what each of its units is compiled from.
  searched =
    {
      include,
      digests,
      includes,
      ...
    }:
    let
      # Of a source: it, and what it reaches, in the order of their names.
      reached = builtins.mapAttrs (
        source: _:
        builtins.sort builtins.lessThan (
          map (file: file.key) (
            builtins.genericClosure {
              startSet = [ { key = source; } ];
              operator = file: map (key: { inherit key; }) (includes.${file.key} or [ ]);
            }
          )
        )
      ) digests;
      headersOf = source: builtins.filter (path: path != source) reached.${source};
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
      key = builtins.concatStringsSep "\n";
      lists = builtins.listToAttrs (
        map (source: {
          name = key (headersOf source);
          value = listed (headersOf source);
        }) (builtins.attrNames digests)
      );
      unit =
        source:
        lists.${key (headersOf source)}
        // {
          file = native.${source}.stored;
          digest = digests.${source};
        };
    in
    {
      inherit include;
      units = builtins.mapAttrs (source: _: unit source) digests;
    };
  all = map searched searches;

in
{
  inherit fresh tree;

  # The units of components that search some folders, by source.
  units = include: (builtins.head (builtins.filter (search: search.include == include) all)).units;

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
