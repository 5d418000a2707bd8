# Variants, the best first: what is bundled; GPUs before the CPU; the newest torch; of that, the oldest toolkit, which
# runs with the most drivers.
variants:
let
  facts = import ./facts.nix;
  backends = [
    "cuda"
    "rocm"
    "xpu"
    "metal"
  ];
  rank =
    backend:
    let
      indices = builtins.filter (index: builtins.elemAt backends index == backend) (
        builtins.genList (index: index) (builtins.length backends)
      );
    in
    if indices == [ ] then builtins.length backends else builtins.head indices;
  # Negative where the first comes before the second.
  compare =
    a: b:
    let
      differences = builtins.filter (difference: difference != 0) [
        (
          if a.bundle == b.bundle then
            0
          else if a.bundle then
            (-1)
          else
            1
        )
        (rank a.backend - rank b.backend)
        (builtins.compareVersions (if b.torch == null then "" else b.torch) (
          if a.torch == null then "" else a.torch
        ))
        (builtins.compareVersions (if a.compute == null then "" else a.compute) (
          if b.compute == null then "" else b.compute
        ))
      ];
    in
    if differences == [ ] then 0 else builtins.head differences;
in
builtins.sort (a: b: compare (facts a) (facts b) < 0) variants
