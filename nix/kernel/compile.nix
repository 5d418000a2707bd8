# One translation unit -> one object file. Its inputs are that file, the headers it reaches, its flags and its
# toolchain: nothing else, so nothing else makes it compile again. Device code may be compiled in parts: then `parts` of
# the result are those, and the result only joins them.
{ run }:
{
  # Store name of the object, less its `.o`.
  name,
  # From nix/default.nix `toolchain`.
  toolchain,
  # One of `Driver` in src/plan/units.rs.
  driver,
  # The file, as a store path, and its path in the kernel's folder, which is also where it lies when compiled.
  file,
  source,
  # From sources.nix: paths of the headers that it reaches and store paths of these, or else a tree of them, laid out like
  # the kernel's folder; and a file that says what all of them include.
  headers,
  headerFiles,
  headerTree,
  includes,
  # Folders of the kernel that are searched for headers.
  include,
  # Flags in the order in which the driver gets them. They hold no store path.
  flags,
  # Whether it reaches headers of the framework or of Python. If not, they are no inputs.
  framework,
  # Whether it is for machines that offer `big-parallel` alone.
  heavy,
  # From src/plan/split.rs: how it is compiled in parts; null: in one piece.
  split,
  # Header of macros that register operators, for units that do so with it, else null.
  registration,
  # `NAME=value`: a macro that holds the op namespace, for units that need it, else null. The others leave it to the link.
  define,
}:
let
  cuda = driver == "nvcc" || driver == "clang";
  present = builtins.filter (tool: tool != null);
  frameworks =
    if framework then
      present [
        toolchain.framework
        toolchain.python
      ]
    else
      [ ];
  # Toolkits of GPUs that the variant has.
  toolkits = present [
    toolchain.cuda
    toolchain.rocm
    toolchain.oneapi
  ];
  # What all parts have in common; `flags` come on top.
  unit = {
    inherit
      driver
      file
      source
      headers
      headerFiles
      headerTree
      include
      includes
      ;
    includesScript = ./includes.sh;
    needsShell = driver == "nvcc";
    tools = present [
      toolchain.host.bin
      (if driver == "clang" then toolchain.clang.bin else null)
      (if driver == "hip" then toolchain.rocm.bin else null)
      (if driver == "hip" then toolchain.interpreter else null)
      (if driver == "icx" || driver == "icpx" then toolchain.oneapi.bin else null)
    ];
    registration = if registration == null then "" else registration;
    define = if define == null then "" else define;
    system_include = builtins.concatMap (tool: tool.include) (frameworks ++ toolkits);
    # Where these headers lie must not reach the object.
    prefixes =
      (if framework then [ toolchain.framework.prefix ] else [ ])
      ++ builtins.concatMap (tool: tool.include) toolkits;
    # NB: what another driver needs is no input of this one.
    hipify = if driver == "hip" then ./hipify.py else "";
    torchHipify = if driver == "hip" && framework then toolchain.framework.hipify else "";
    metal = if driver == "metal" then ./metal.sh else "";
    metallibHeader = if driver == "apple-clang++" then ../../templates/torch/metallib.h else "";
    ptxas = if driver == "clang" then ./ptxas.sh else "";
    cuda = if cuda then toolchain.cuda.toolkit else "";
  }
  // (if heavy then { requiredSystemFeatures = [ "big-parallel" ]; } else { });
  # NB: src/steps knows compilations by `part`, and what joins some by `devices`.
  compiled =
    part: more:
    run (
      unit
      // {
        inherit part;
        name = "${name}-${part}.o";
        script = ./compile.sh;
        archList = split.archList or "";
        flags = flags ++ more;
      }
    );
  device = map (arch: {
    inherit (arch) sm;
    ptx = arch ? ptx;
    output = compiled "sm_${arch.sm}" arch.flags;
  }) split.archs;
  host = compiled "host" split.host;
in
if split == null then
  run (
    unit
    // {
      name = "${name}.o";
      inherit flags;
      script = ./compile.sh;
      part = "whole";
    }
  )
else
  run (
    unit
    // {
      name = "${name}.o";
      inherit host;
      script = ./join.sh;
      # NB: arrays of the same order.
      devices = map (part: part.output) device;
      archs = map (part: part.sm) device;
      ptx = map (part: if part.ptx then "yes" else "") device;
      fatbinary = split.fatbinary or [ ];
      # For a unit whose parts do not fit together.
      compile = ./compile.sh;
      part = "whole";
      flags = flags ++ builtins.concatMap (arch: arch.flags ++ arch.ptx or [ ]) split.archs;
    }
  )
  // {
    parts = [ host ] ++ map (part: part.output) device;
  }
