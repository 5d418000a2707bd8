# What an extension needs of torch: its headers, and libraries to link. Of the libraries only the names matter, since
# their symbols have no versions and the loader finds each wherever it is: stubs stand for a gigabyte.
{
  name,
  host,
  pins,
  run,
}:
let
  headers = builtins.head (pins.family name);
in
{
  include = [
    "${headers}/torch/include"
    "${headers}/torch/include/torch/csrc/api/include"
  ];
  # A prefix that must not reach an object (torch's macros expand __FILE__).
  prefix = "${headers}/torch";
  # Folders of libraries to link with; the same for every torch.
  libraries = [
    (run {
      name = "torch-stubs";
      script = ./torch-stubs.sh;
      tools = [ host.bin ];
      names = [
        "c10"
        "torch_cpu"
        "c10_cuda"
        "torch_cuda"
      ];
    })
  ];
  # Symbols that a linked library may leave to torch.
  symbols = ./torch-symbols.txt;
}
