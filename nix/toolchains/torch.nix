# The parts of torch that an extension needs: its headers, and libraries to link. The libraries are
# empty stubs instead of a gigabyte: only their names matter, since their symbols have no versions
# and the loader finds each symbol in any library.
{
  name,
  host,
  # The Python that makes lean headers and unpacks wheels, which are too large for the seed's unzip;
  # null if neither is needed.
  interpreter,
  pins,
  run,
}:
let
  # A tree of torch's headers, or the whole wheel if Nix downloads it: a server of URLs need not
  # serve parts of files.
  pin = builtins.head (pins.family name);
  isWheel = builtins.match ".*[.]whl" pin.name != null;
  members =
    part: folder:
    run {
      name = "${name}-${part}";
      script = ./wheel-members.sh;
      program = ./wheel-members.py;
      tools = if interpreter == null then [ ] else [ interpreter ];
      wheel = pin;
      inherit folder;
    };
  headers = if isWheel then members "headers" "torch/include" else pin;
  include = [
    "${headers}/torch/include"
    "${headers}/torch/include/torch/csrc/api/include"
  ];
in
{
  inherit include;
  # Umbrella headers of which a unit gets the parts that it names (templates/lean-headers/make.py).
  leanHeaders =
    if interpreter == null then
      null
    else
      run {
        name = "${name}-lean-headers";
        script = ./lean-headers.sh;
        program = ../../templates/lean-headers/make.py;
        tools = [ interpreter ];
        folders = include;
      };
  # A prefix that must not reach an object (torch's macros expand __FILE__).
  prefix = "${headers}/torch";
  # The folder of torch's translator of CUDA sources, the Python package `hipify`.
  hipify = "${members "hipify" "torch/utils/hipify"}/torch/utils";
  # Folders of libraries to link with; the same for every torch.
  libraries =
    # NB: macOS looks for symbols in all libraries of the process, so no library is linked.
    if host.bin == null then
      [ ]
    else
      [
        (run {
          name = "torch-stubs";
          script = ./torch-stubs.sh;
          tools = [ host.bin ];
          # The libraries that `link` of src/plan/mod.rs names; tests/plan/agreement.rs compares the
          # two.
          names = [
            "c10"
            "torch_cpu"
            "c10_cuda"
            "torch_cuda"
            "c10_hip"
            "torch_hip"
            "c10_xpu"
            "torch_xpu"
          ];
        })
      ];
}
