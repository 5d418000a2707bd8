# Translation units that are compiled alike -> a function of each to its object file. Inputs of an
# object are its file, the headers that this reaches, its flags and its toolchain alone, so
# no other change makes it compile again. Device code may be compiled in parts: then `parts` of the
# result are those, and the result only joins them.
{ environments, runs }:
{
  # From nix/default.nix `toolchain`.
  toolchain,
  # One of `Driver` in src/plan/types.rs.
  driver,
  # Folders of the kernel that are searched for headers.
  include,
  # Folders of libraries of headers, which are searched after the framework's.
  libraries ? [ ],
  # Flags in the order in which the driver gets them. They hold no store path.
  flags,
  # Whether they reach headers of the framework or of Python. If not, they are no inputs.
  framework,
  # Whether they are for machines that offer `big-parallel` alone.
  heavy ? false,
  # From src/plan/split.rs: how they are compiled in parts; null: in one piece.
  split ? null,
  # Header of macros that register operators, for units that do so with it, else null.
  registration,
  # `NAME=value`: a macro that holds the op namespace, for units that need it, else null. The others
  # leave it to the link.
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
  # Toolkits of GPUs that the variant has.
  toolkits = present [
    toolchain.cuda
    toolchain.rocm
    toolchain.oneapi
  ];
  # Tools and variables that one driver needs and others do not.
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
  needs = {
    tools = [ ];
    values = { };
  }
  // drivers.${driver} or { };
  # The tools and headers of all units of the group, as one input.
  environment = environments {
    name = driver;
    # nvcc calls /bin/sh.
    needsShell = driver == "nvcc";
    tools = present ([ toolchain.host.bin ] ++ needs.tools);
    scripts = {
      compile = ./compile.sh;
      join = ./join.sh;
    };
    values = needs.values // {
      includesScript = ./includes.sh;
      compileScript = ./compile.sh;
      registration = if registration == null then "" else registration;
      system_include =
        builtins.concatMap (tool: tool.include) frameworks
        ++ libraries
        ++ builtins.concatMap (tool: tool.include) toolkits;
      # Where these headers lie must not reach the object.
      prefixes =
        (if framework then [ toolchain.framework.prefix ] else [ ])
        ++ libraries
        ++ builtins.concatMap (tool: tool.include) toolkits;
    };
  };
  # Attributes that all parts have in common; `flags` come on top.
  common = {
    inherit driver environment include;
    define = if define == null then "" else define;
  }
  // (if heavy then { requiredSystemFeatures = [ "big-parallel" ]; } else { });
  # NB: src/steps knows compilations by `part`, and joins by `devices`.
  whole = runs (
    common
    // {
      inherit flags;
      script = "compile";
      part = "whole";
    }
  );
  compiled =
    part: more:
    runs (
      common
      // {
        inherit part;
        script = "compile";
        archList = split.archList or "";
        flags = flags ++ more;
      }
    );
  hostArch = builtins.head (builtins.filter (arch: arch.sm == split.host) split.archs);
  # nvcc makes host code from facts of the device code, which then is kept.
  isDeviceToo = driver == "nvcc";
  hostName = "host" + (if isDeviceToo then "+sm_${split.host}" else "");
  host = compiled hostName hostArch.flags;
  isInHost = arch: isDeviceToo && arch == hostArch;
  device = map (arch: {
    inherit arch;
    make = if isInHost arch then null else compiled "sm_${arch.sm}" arch.flags;
  }) split.archs;
  join = runs (
    common
    // {
      script = "join";
      # NB: arrays of the same order, as `devices` is.
      archs = map (arch: arch.sm) split.archs;
      ptx = map (arch: if arch ? ptx then "yes" else "") split.archs;
      fatbinary = split.fatbinary or [ ];
      # For a unit whose parts do not fit together.
      part = "whole";
      flags = flags ++ builtins.concatMap (arch: arch.flags ++ arch.ptx or [ ]) split.archs;
    }
  );
in
# `name`: store name of the object, less its `.o`. `source`: the file's path in the kernel's folder,
# which is also where it lies when compiled. `unit`: from sources.nix, what it is compiled from.
name: source: unit:
let
  own = unit // {
    inherit source;
    name = "${name}.o";
  };
  part = make: suffix: make (own // { name = "${name}-${suffix}.o"; });
  hostPart = part host hostName;
  devices = map ({ arch, make }: if make == null then hostPart else part make "sm_${arch.sm}") device;
in
if split == null then
  whole own
else
  join (
    own
    // {
      host = hostPart;
      inherit devices;
    }
  )
  // {
    parts = [ hostPart ] ++ builtins.filter (part: part != hostPart) devices;
  }
