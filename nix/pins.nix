# Pins (nix/pins/<system>/<family>.json) as store paths. `kernel-builder fetch` brings the files
# into the store; Nix itself can download the pins that have an URL.
{
  system,
  # The command that brings a missing pin, as words for the user.
  cure ? "run `kernel-builder fetch` in the kernel's folder",
}:
let
  # Store names allow fewer characters than file names of packages. src/pins/mod.rs has the same
  # rule.
  storeName = builtins.replaceStrings [ "%3a" "~" "%" "!" ] [ "_" "-" "_" "_" ];

  # Attributes of a derivation that cannot be built. Nix prints `words` as the name of an archive
  # that it failed to open, in one line, which needs no program, sandbox or network. NB: Nix 2.8 to
  # 2.26 print the name of a builder that they do not have as "unsupported builtin builder".
  refuse = words: {
    system = "builtin";
    builder = "builtin:unpack-channel";
    channelName = "-";
    src = words;
  };
  # A pin without a recipe: only `kernel-builder fetch` brings it into the store.
  fixed =
    mode: name: hash:
    derivation (
      refuse "${name}, which is not in the Nix store: ${cure}"
      // {
        inherit name;
        outputHash = hash;
        outputHashAlgo = "sha256";
        outputHashMode = mode;
      }
    );
  # The derivation that Nix's own fetchurl.nix makes. It has the same store path as that of `fixed`.
  byUrl =
    name: hash: url:
    derivation {
      inherit name url;
      outputHash = hash;
      outputHashAlgo = "sha256";
      outputHashMode = "flat";
      builder = "builtin:fetchurl";
      system = "builtin";
      executable = false;
      unpack = false;
      preferLocalBuild = true;
      impureEnvVars = [
        "http_proxy"
        "https_proxy"
        "ftp_proxy"
        "all_proxy"
        "no_proxy"
      ];
    };
  archive =
    pin:
    let
      name = storeName pin.file;
    in
    if pin ? urls && pin.urls != [ ] then
      byUrl name pin.sha256 (builtins.head pin.urls)
    else
      fixed "flat" name pin.sha256;
  # Some members of one or more archives, as a tree.
  tree = pin: fixed "recursive" pin.name pin.sha256;
  # A derivation in place of pins that nobody has made yet. A variant that needs it evaluates, and
  # fails with the reason when it is built.
  unpinned =
    name: why:
    derivation (
      refuse "${name}, which cannot be made: ${why}"
      // {
        inherit name;
        # The same for src/steps/derivations.rs.
        unavailable = why;
      }
    );
  path = name: ./pins + "/${system}/${name}.json";
  read = name: builtins.fromJSON (builtins.readFile (path name));
in
{
  # A file that no family lists, by its store name and its hash.
  file = fixed "flat";

  # A derivation that fails when it is built, with a reason.
  inherit unpinned;

  # The names of all families.
  families = builtins.concatMap (
    file:
    let
      name = builtins.match "(.*)[.]json" file;
    in
    if name == null then [ ] else name
  ) (builtins.attrNames (builtins.readDir (./pins + "/${system}")));

  # The folders of a library of headers, in which compilers search.
  headers =
    name:
    let
      family = read name;
      root = tree (builtins.head family.trees);
    in
    map (folder: "${root}/${folder}") family.include;

  # Whether a family of this name exists, and its file.
  hasFamily = name: builtins.pathExists (path name);
  inherit path;

  # An archive, from a set of its `file`, `sha256` and perhaps `urls`.
  inherit archive;

  # All pins of a family, in the order of its file: a list of derivations.
  family =
    name:
    let
      family = read name;
    in
    if family ? unpinned then
      [ (unpinned name family.unpinned) ]
    else
      map archive family.archives ++ map tree family.trees;

  # The archives of a family by the names of their packages.
  byName =
    name:
    builtins.listToAttrs (
      map (pin: {
        inherit (pin) name;
        value = archive pin;
      }) (read name).archives
    );
}
