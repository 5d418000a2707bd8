# Pythons that run kernels, by the names of a variant's toolchains. Their pins are families beside
# those of the toolchains, and only shells and checks need them:
#   python-3.11-runtime       the interpreter
#   python-3.11-packages      the `kernels` client, pytest, pip, cmake, ninja, and dependencies of
#                             torch but for NVIDIA's (a kernel may pin more in its
#                             python-packages.json)
#   torch-<release>-runtime   torch itself, of the releases that [whole-torch] of
#                             nix/pins/families.toml names
#   torch-<release>-nvidia    NVIDIA's libraries and Triton, for torch on a GPU
{
  hostTools,
  pins,
  run,
  seed,
}:
{
  # Names of the toolchains of a variant.
  toolchain,
  # Functions from packages by name to a list of those that are wanted in addition.
  inputs ? [ ],
  # Archives that the kernel pins itself, for this system.
  archives ? [ ],
  # Names that `inputs` may use though nobody has pinned them.
  words ? [ ],
}:
let
  unpackWheels = import ./wheels.nix { inherit run; };
  environment = import ./environment.nix { inherit run seed; };
  # Variants of Python alone have no toolchains, those of tvm-ffi no torch. NB: src/pins/runtime.rs
  # has the same rule.
  inherit (builtins.fromJSON (builtins.readFile ./toolchain.json) // toolchain) host python torch;
  tools = hostTools host;
  wheels =
    name: wheels:
    unpackWheels {
      inherit interpreter name wheels;
      host = tools;
    };
  interpreter = import ./interpreter.nix {
    name = python;
    host = tools;
    inherit pins run;
  };

  # Every kernel has these.
  packages = wheels "${python}-packages" (pins.family "${python}-packages");
  byName = family: if pins.has family then pins.byName family else { };
  requested = import ./requested.nix { inherit pins; } {
    inherit archives inputs words;
    # torch and its dependencies, which every variant of that torch has.
    provided = byName "${torch}-nvidia" // byName "${torch}-runtime" // byName "${python}-packages";
  };
  layers = [
    packages
  ]
  ++ (if archives == [ ] then [ ] else [ (wheels "${python}-requested-packages" requested.wheels) ])
  ++ requested.failures;
  torchWheels = pins.family "${torch}-runtime";
  runtime = wheels torch torchWheels;
  # Together: torch looks for NVIDIA's libraries beside itself.
  withNvidia = wheels "${torch}-with-nvidia" (torchWheels ++ pins.family "${torch}-nvidia");
  tritonWheel = (byName "${torch}-nvidia").triton or null;
  tritonWheels = if tritonWheel == null then [ ] else [ (wheels "${torch}-triton" [ tritonWheel ]) ];
  stubs = import ./stubs.nix { inherit run; } {
    host = tools;
    torch = runtime;
    inherit interpreter;
  };
in
{
  # Whether Python is pinned, and its torch, and the libraries that torch needs on a GPU.
  isPinned = pins.has "${python}-runtime" && pins.has "${python}-packages";
  hasTorch = pins.has "${torch}-runtime";
  hasNvidia = pins.has "${torch}-nvidia";

  # Names of packages that `inputs` ask for and that nobody has pinned. The environments below fail
  # if there are any, but for the client's.
  inherit (requested) missing;

  # The `kernels` client and its dependencies, without torch.
  client = environment {
    name = "${python}-environment";
    wheels = [ packages ];
    inherit interpreter;
  };

  # Without torch, too.
  withoutTorch = environment {
    name = "${python}-environment";
    wheels = layers;
    inherit interpreter;
  };

  # Backends whose torch comes with Triton. NB: src/pins/runtime.rs has the same list.
  tritonBackends = [
    "cuda"
    "rocm"
    "xpu"
  ];

  # With a torch that runs on the CPU, whatever it was made for. `cudart`: a pattern of real CUDA
  # runtime libraries, which do not need a GPU, for kernels that use more of it than torch does.
  # `triton`: with Triton, if it is pinned.
  cpu =
    {
      cudart ? null,
      triton ? false,
    }:
    environment {
      name = "${torch}-cpu";
      wheels = layers ++ [ runtime ] ++ (if triton then tritonWheels else [ ]);
      preload = (if cudart == null then [ ] else [ cudart ]) ++ [ "${stubs}/*.so*" ];
      inherit interpreter;
    };

  # With a torch that runs on NVIDIA's GPUs.
  cuda = environment {
    name = "${torch}-cuda";
    wheels = layers ++ [ withNvidia ];
    inherit interpreter;
  };
}
