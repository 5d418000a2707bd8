# Pins (nix/pins/<system>/<family>.json) as store paths. `kernel-builder fetch` puts the files in
# place; what has an URL, Nix can download itself.
{
  system,
  # The words that tell a user what to run where a pin is missing.
  cure ? "run `kernel-builder fetch` in the kernel's folder",
}:
let
  # Store names allow fewer characters than file names of packages. src/pins/mod.rs has the same
  # rule.
  storeName = builtins.replaceStrings [ "%3a" "~" "%" "!" ] [ "_" "-" "_" "_" ];

  # A missing pin has no recipe. Nix then names the builder that it cannot run, so the builder says
  # what to do: one line, with no need of any program, sandbox or network.
  fixed =
    mode: name: hash:
    derivation {
      inherit name system;
      outputHash = hash;
      outputHashAlgo = "sha256";
      outputHashMode = mode;
      builder = "builtin:missing pin ${name}: ${cure}";
    };
  # The derivation that Nix's own fetchurl.nix makes; the path in the store is the same as `fixed`
  # gives.
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
  # Stands for the pins of a family that nobody has pinned yet: what needs it evaluates, and fails
  # with the reason when it is built.
  unpinned =
    name: why:
    derivation {
      inherit name system;
      builder = "builtin:${why}";
    };
  path = name: ./pins + "/${system}/${name}.json";
  read = name: builtins.fromJSON (builtins.readFile (path name));
in
{
  # One file that no family lists, by its name in the store and its hash.
  file = fixed "flat";

  # A derivation that fails when it is built, with a reason.
  inherit unpinned;

  # Names of all families.
  families = builtins.concatMap (
    file:
    let
      name = builtins.match "(.*)[.]json" file;
    in
    if name == null then [ ] else name
  ) (builtins.attrNames (builtins.readDir (./pins + "/${system}")));

  # A library of headers: its folders that compilers search.
  headers =
    name:
    let
      family = read name;
      root = tree (builtins.head family.trees);
    in
    map (folder: "${root}/${folder}") family.include;

  # Whether there is a family of a name.
  has = name: builtins.pathExists (path name);

  # One archive of which `file`, `sha256` and perhaps `urls` are known.
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

  # The archives of a family by their package's name.
  byName =
    name:
    builtins.listToAttrs (
      map (pin: {
        inherit (pin) name;
        value = archive pin;
      }) (read name).archives
    );
}
