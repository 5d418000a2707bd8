# The variants that a flake asks for with `torchVersions`: null for all, a list of patterns of their
# names, or, in older flakes, a function from the list of all builds to a list of some of them.
{ torchVersions }:
variants:
let
  # Whether a name matches a pattern such as "torch211-*", in which only `*` is special.
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

  # A variant as the functions of older flakes expect it: one build of torch for one compute.
  describe =
    variant:
    let
      # Variants of Python alone have no row.
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
  # A build's torch and compute: the attributes that two builds for the same ones have in common.
  torchAndCompute =
    build:
    removeAttrs build [
      "bundleBuild"
      "cxx11Abi"
      "ptxasVersion"
      "sourceBuild"
      "systems"
      "tvmFfiVersion"
    ];
  # Whether `other`, which a flake's function returned, stands for a build. Without `cxx11Abi` it
  # stands for the builds of both C++ ABIs.
  isSame =
    other: build:
    torchAndCompute other == torchAndCompute build
    && other.cxx11Abi or build.cxx11Abi == build.cxx11Abi;
  # The key of a build. Builds that differ in their system alone have the same one, and are merged.
  key =
    build:
    builtins.toJSON [
      (torchAndCompute build)
      build.cxx11Abi
    ];
  merged = map (
    builds: builtins.head builds // { systems = builtins.concatMap (build: build.systems) builds; }
  ) (builtins.attrValues (builtins.groupBy key all));
  all = map describe variants;
  # Refuses a build with the ptxas of another toolkit, for which older flakes may ask: a toolkit's
  # pins have one ptxas.
  refuseOtherPtxas =
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
      wanted = map refuseOtherPtxas (torchVersions merged);
      isWanted =
        variant:
        let
          build = describe variant;
          isThisBuild = other: isSame other build && builtins.elem variant.system (other.systems or [ ]);
        in
        # Variants of Python alone are no builds of torch: every choice keeps them.
        !(variant ? system) || builtins.any isThisBuild wanted;
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
