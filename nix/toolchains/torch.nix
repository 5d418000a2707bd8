# What an extension needs of torch: headers, and the libraries that it links. Derivations of their own, so that nothing
# waits for hundreds of MB that it does not use.
{
  name,
  pins,
  run,
}:
let
  wheel = builtins.head (pins.family name);
  headers = run {
    name = "${name}-headers";
    script = ./torch-headers.sh;
    inherit wheel;
  };
  libraries =
    set: names:
    run {
      name = "${name}-libraries-${set}";
      script = ./torch-libraries.sh;
      inherit wheel names;
    };
in
{
  include = [
    "${headers}/include"
    "${headers}/include/torch/csrc/api/include"
  ];
  # A prefix that must not reach an object (torch's macros expand __FILE__).
  prefix = "${headers}";
  # Folders of libraries to link with.
  libraries =
    { cuda }:
    [
      (libraries "cpu" [
        "c10"
        "torch_cpu"
      ])
    ]
    ++ (
      if cuda then
        [
          (libraries "cuda" [
            "c10_cuda"
            "torch_cuda"
          ])
        ]
      else
        [ ]
    );
}
