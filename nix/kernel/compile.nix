# A group of units that are compiled alike -> a function from a unit to its object. The only inputs
# of an object are the unit's file, the headers that it reaches, its flags and its toolchain, so no
# other change compiles it again. A unit may be compiled in parts: then the object is a join, and
# has the parts as `parts`.
{ environments, runs }:
{
  # From `toolchain` of ../system-recipes.nix.
  toolchain,
  # One of `Driver` in src/plan/types.rs.
  driver,
  # Folders of the kernel that are searched for headers.
  include,
  # Folders of libraries of headers, which are searched after the framework's folders.
  libraries ? [ ],
  # Flags in the order in which the driver gets them. They hold no store path.
  flags,
  # Whether the units reach headers of the framework or of Python. If not, these headers are no
  # inputs.
  framework,
  # Whether units that include torch's umbrella headers may be compiled with lean ones.
  leanHeaders ? true,
  # Whether only machines that offer `big-parallel` may compile the units.
  heavy ? false,
  # The architectures of the parts, from `split` of resolve.nix; null if units are compiled in one
  # piece.
  split ? null,
  # The header of macros that register operators, for units that use it, else null.
  registration,
  # The macro of the op namespace as `NAME=value`, for units that need it, else null. Other units
  # leave the namespace to the link.
  define,
}:
let
  present = builtins.filter (tool: tool != null);
  frameworks =
    if framework then
      present [
        toolchain.framework
        toolchain.python
      ]
    else
      [ ];
  # Lean headers of torch; null if units do not get them.
  lean = if framework && leanHeaders then toolchain.framework.leanHeaders or null else null;
  # The GPU toolkits of the variant.
  toolkits = present [
    toolchain.cuda
    toolchain.rocm
    toolchain.oneapi
  ];
  # Tools and variables that only one driver needs.
  drivers = {
    nvcc.values.cuda = toolchain.cuda.toolkit;
    clang = {
      tools = [ toolchain.clang.bin ];
      values = {
        cuda = toolchain.cuda.toolkit;
        ptxas = ./ptxas.sh;
      };
    };
    hip = {
      tools = [
        toolchain.rocm.bin
        toolchain.interpreter
      ];
      values = {
        hipify = ./hipify.py;
        torchHipify = if framework then toolchain.framework.hipify else "";
      };
    };
    icx.tools = [ toolchain.oneapi.bin ];
    icpx.tools = [ toolchain.oneapi.bin ];
    "apple-clang++".values.metallibHeader = ../../templates/torch/metallib.h;
    metal.values.metal = ./metal.sh;
  };
  driverNeeds = {
    tools = [ ];
    values = { };
  }
  // drivers.${driver} or { };
  # The tools and headers of all units of the group, as one input.
  environment = environments {
    name = driver;
    # nvcc calls /bin/sh.
    needsShell = driver == "nvcc";
    tools = present ([ toolchain.host.bin ] ++ driverNeeds.tools);
    scripts = {
      compile = ./compile.sh;
      join = ./join.sh;
    };
    values = driverNeeds.values // {
      includesScript = ./includes.sh;
      compileScript = ./compile.sh;
      registration = if registration == null then "" else registration;
      lean = if lean == null then "" else lean;
      selectHeaders = if lean == null then "" else ../../templates/lean-headers/select.awk;
      inherit libraries;
      system_include =
        builtins.concatMap (tool: tool.include) frameworks
        ++ libraries
        ++ builtins.concatMap (tool: tool.include) toolkits;
      # Prefixes of headers' paths, which must not reach the object: `assert` and libstdc++'s own
      # checks print them.
      prefixes =
        present [ (toolchain.host.sysroot or null) ]
        ++ (
          if framework then
            present [
              toolchain.framework.prefix
              lean
            ]
          else
            [ ]
        )
        ++ libraries
        ++ builtins.concatMap (tool: tool.include) toolkits;
    };
  };
  # Attributes that the whole unit, its parts and its join have in common.
  common = {
    inherit driver environment include;
    define = if define == null then "" else define;
  }
  // (if heavy then { requiredSystemFeatures = [ "big-parallel" ]; } else { });
  # NB: src/steps recognizes compilations by `part`, and joins by `devices`.
  compileWhole = runs (
    common
    // {
      inherit flags;
      script = "compile";
      part = "whole";
    }
  );
  compilePart =
    part: archFlags:
    runs (
      common
      // {
        inherit part;
        script = "compile";
        archList = split.archList or "";
        flags = flags ++ archFlags;
      }
    );
  hostArch = builtins.head (builtins.filter (arch: arch.sm == split.host) split.archs);
  # NB: nvcc makes host code from facts of its device code. So the part of the host code keeps its
  # device code.
  hostHasDeviceCode = driver == "nvcc";
  hostName = "host" + (if hostHasDeviceCode then "+sm_${split.host}" else "");
  compileHost = compilePart hostName hostArch.flags;
  isInHost = arch: hostHasDeviceCode && arch == hostArch;
  deviceParts = map (arch: {
    inherit arch;
    make = if isInHost arch then null else compilePart "sm_${arch.sm}" arch.flags;
  }) split.archs;
  joinParts = runs (
    common
    // {
      script = "join";
      # NB: these arrays have the order of `devices`.
      archs = map (arch: arch.sm) split.archs;
      ptx = map (arch: if arch ? ptx then "yes" else "") split.archs;
      fatbinary = split.fatbinary or [ ];
      # The attributes of a whole unit, which join.sh compiles if the parts do not fit together.
      part = "whole";
      flags = flags ++ builtins.concatMap (arch: arch.flags ++ arch.ptx or [ ]) split.archs;
    }
  );
in
# `name`: the store name of the object, without `.o`. `source`: the file's path in the kernel's
# folder, which is also its path while it is compiled. `unit`: its `inputs` from sources.nix.
name: source: unit:
let
  unitAttrs = unit // {
    inherit source;
    name = "${name}.o";
  };
  makePart = make: suffix: make (unitAttrs // { name = "${name}-${suffix}.o"; });
  hostPart = makePart compileHost hostName;
  devices = map (
    { arch, make }: if make == null then hostPart else makePart make "sm_${arch.sm}"
  ) deviceParts;
in
if split == null then
  compileWhole unitAttrs
else
  joinParts (
    unitAttrs
    // {
      host = hostPart;
      inherit devices;
    }
  )
  // {
    parts = [ hostPart ] ++ builtins.filter (part: part != hostPart) devices;
  }
