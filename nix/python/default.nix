# Pythons that run kernels, for the toolchain of a variant. Only shells and checks need their pins,
# which are families of their own:
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
  # The names of families in the toolchain of a variant.
  toolchain,
  # Functions from a set of packages to a list of the packages that are wanted in addition.
  inputs ? [ ],
  # Archives that the kernel pins itself, for this system.
  archives ? [ ],
  # Names that `inputs` may use though nobody has pinned them.
  words ? [ ],
}:
let
  unpackWheels = import ./wheels.nix { inherit run; };
  environment = import ./environment.nix { inherit run seed; };
  # NB: variants of Python alone have no toolchain, and variants of tvm-ffi have no torch:
  # toolchain.json has the families for both. src/pins/runtime.rs follows the same rule.
  inherit (builtins.fromJSON (builtins.readFile ./toolchain.json) // toolchain) host python torch;
  tools = hostTools host;
  unpack =
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

  # The packages of every kernel.
  packages = unpack "${python}-packages" (pins.family "${python}-packages");
  byName = family: if pins.hasFamily family then pins.byName family else { };
  requested = import ./requested.nix { inherit pins; } {
    inherit archives inputs words;
    # The packages of every kernel, torch, and the dependencies of torch.
    provided = byName "${torch}-nvidia" // byName "${torch}-runtime" // byName "${python}-packages";
  };
  layers = [
    packages
  ]
  ++ (if archives == [ ] then [ ] else [ (unpack "${python}-requested-packages" requested.wheels) ])
  ++ requested.failures;
  unpackedTorch = unpack torch (pins.family "${torch}-runtime");
  tritonWheel = (byName "${torch}-nvidia").triton or null;
  tritonWheels = if tritonWheel == null then [ ] else [ (unpack "${torch}-triton" [ tritonWheel ]) ];
  stubs = import ./stubs.nix { inherit run; } {
    host = tools;
    torch = unpackedTorch;
    inherit interpreter;
  };
  # An environment with a torch, by arguments of torch.nix and of environment.nix. It knows the
  # folder of torch's CMake packages.
  withTorch =
    torchArguments: more:
    let
      joinedTorch = import ./torch.nix { inherit run; } (
        {
          torch = unpackedTorch;
          inherit interpreter;
        }
        // torchArguments
      );
    in
    environment (
      more
      // {
        wheels = layers ++ [ joinedTorch ] ++ (more.wheels or [ ]);
        inherit interpreter;
      }
    )
    // {
      cmakePackages = "${joinedTorch}/site/torch/share/cmake";
    };
in
{
  # Whether there are pins of Python, of torch, and of the libraries that torch needs on a GPU.
  isPinned = pins.hasFamily "${python}-runtime" && pins.hasFamily "${python}-packages";
  hasTorch = pins.hasFamily "${torch}-runtime";
  hasNvidia = pins.hasFamily "${torch}-nvidia";

  # Names of packages that `inputs` ask for and that nobody has pinned. If there are any, the
  # environments below except `client` cannot be built.
  inherit (requested) missing;

  # An environment of the `kernels` client and its dependencies, without torch.
  client = environment {
    name = "${python}-environment";
    wheels = [ packages ];
    inherit interpreter;
  };

  # An environment of all packages, without torch.
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

  # An environment whose torch runs on the CPU. `hasCuda`: whether torch says that it is made for
  # CUDA, as the wheel of the index is; the client then takes CUDA variants. `cudart`: a pattern of
  # real CUDA runtime libraries, for kernels that use more of them than torch does; they need no
  # GPU. `triton`: whether it has Triton, if that is pinned.
  cpu =
    {
      hasCuda,
      cudart ? null,
      triton ? false,
    }:
    withTorch
      {
        name = "${torch}-on-cpu";
        inherit hasCuda stubs;
      }
      {
        name = "${torch}-cpu";
        wheels = if triton then tritonWheels else [ ];
        preload = if cudart == null then [ ] else [ cudart ];
      };

  # An environment whose torch runs on NVIDIA's GPUs.
  cuda =
    withTorch
      {
        name = "${torch}-on-cuda";
        hasCuda = true;
        nvidia = unpack "${torch}-nvidia" (pins.family "${torch}-nvidia");
      }
      {
        name = "${torch}-cuda";
      };
}
