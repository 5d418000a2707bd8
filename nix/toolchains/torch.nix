# The parts of torch that an extension needs: its headers, and libraries to link. Of the libraries
# only the names matter, since their symbols have no versions and the loader finds each wherever it
# is: stubs stand for a gigabyte.
{
  name,
  host,
  # Unpacks wheels that are too large for the seed's unzip; null where there are none.
  interpreter,
  pins,
  run,
}:
let
  # A tree of its headers, or the whole wheel: who serves files by URL need not serve parts of them.
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
in
{
  include = [
    "${headers}/torch/include"
    "${headers}/torch/include/torch/csrc/api/include"
  ];
  # A prefix that must not reach an object (torch's macros expand __FILE__).
  prefix = "${headers}/torch";
  # torch's translator of CUDA sources: a folder with the Python package `hipify`.
  hipify = "${members "hipify" "torch/utils/hipify"}/torch/utils";
  # Folders of libraries to link with; the same for every torch.
  libraries =
    # NB: macOS looks for symbols in all of the process.
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
  # Symbols that a linked library may leave to torch.
  symbols = ./torch-symbols.txt;
}
