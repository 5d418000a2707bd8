# The variants that a flake asks for with `torchVersions`: null for all, a list of patterns of variant names, or a
# function from the list of all builds to a list of some of them, as older flakes have it.
{ torchVersions }:
variants:
let
  # "torch211-*" -> a regular expression; only `*` is special.
  matches =
    pattern: name:
    let
      literal = builtins.replaceStrings [ "." "+" ] [ "\\." "\\+" ];
      parts = builtins.filter builtins.isString (builtins.split "\\*" pattern);
    in
    builtins.match (builtins.concatStringsSep ".*" (map literal parts)) name != null;
  byPatterns =
    patterns:
    let
      unmatched = builtins.filter (
        pattern: !builtins.any (variant: matches pattern variant.variant) variants
      ) patterns;
    in
    if unmatched == [ ] then
      builtins.filter (variant: builtins.any (pattern: matches pattern variant.variant) patterns) variants
    else
      throw "torchVersions: no variant matches ${builtins.concatStringsSep ", " unmatched}; the variants are ${names}";

  # One build of torch for one compute platform, in the words of older flakes.
  describe =
    variant:
    let
      # None for Python alone.
      row = variant.row or { };
    in
    {
      torchVersion = row.torch or null;
      cxx11Abi = row.cxx11Abi or true;
      bundleBuild = variant.bundle;
      systems = if row ? system then [ row.system ] else [ ];
    }
    // (
      if row ? computeVersion then
        { "${variant.backend}Version" = row.computeVersion; }
      else
        { ${variant.backend} = true; }
    );
  platform =
    build:
    removeAttrs build [
      "bundleBuild"
      "cxx11Abi"
      "ptxasVersion"
      "sourceBuild"
      "systems"
      "tvmFfiVersion"
    ];
  # Whether what a flake's function gives stands for a build; without `cxx11Abi` it stands for those of both C++ ABIs.
  isSame =
    other: build:
    platform other == platform build && other.cxx11Abi or build.cxx11Abi == build.cxx11Abi;
  # Builds that differ in their system only are one entry.
  key =
    build:
    builtins.toJSON [
      (platform build)
      build.cxx11Abi
    ];
  merged = map (
    builds: builtins.head builds // { systems = builtins.concatMap (build: build.systems) builds; }
  ) (builtins.attrValues (builtins.groupBy key all));
  all = map describe variants;
  # Older flakes may ask for the ptxas of another toolkit. A toolkit's pins have one ptxas, its own.
  withOwnPtxas =
    build:
    let
      asked = build.ptxasVersion or null;
      toolkit = build.cudaVersion or null;
      compute = if toolkit == null then "no CUDA" else "CUDA ${toolkit}";
    in
    if asked == null || asked == toolkit then
      build
    else
      throw "torchVersions: `ptxasVersion = \"${asked}\"` of torch ${
        toString (build.torchVersion or "")
      } with ${compute}: a toolkit compiles with its own ptxas here; remove `ptxasVersion`, or ask for the build with `cudaVersion = \"${asked}\"`";
  byFunction =
    let
      wanted = map withOwnPtxas (torchVersions merged);
      isWanted =
        variant:
        let
          build = describe variant;
          # Python alone is no build of a torch.
          same = other: isSame other build && builtins.elem variant.system (other.systems or [ ]);
        in
        !(variant ? system) || builtins.any same wanted;
      chosen = builtins.filter isWanted variants;
      unknown = builtins.filter (build: !builtins.any (isSame build) merged) wanted;
    in
    if chosen == [ ] then
      throw "torchVersions leaves no variant; the variants are ${names}"
    else if unknown == [ ] then
      chosen
    else
      builtins.trace "warning: torchVersions names builds that this kernel has no variant for: ${builtins.toJSON unknown}" chosen;

  names = builtins.concatStringsSep ", " (map (variant: variant.variant) variants);
in
if torchVersions == null then
  variants
else if builtins.isList torchVersions then
  byPatterns torchVersions
else if builtins.isFunction torchVersions then
  byFunction
else
  throw "torchVersions must be a list of patterns of variant names, e.g. [ \"torch211-*\" ], or a function from the list of builds to a list of builds"
