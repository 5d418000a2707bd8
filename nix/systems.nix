# The systems that can build, sorted: each has pins of a seed.
builtins.filter (system: builtins.pathExists (./pins + "/${system}/seed.json")) (
  builtins.attrNames (builtins.readDir ./pins)
)
