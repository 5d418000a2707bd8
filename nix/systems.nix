# Systems that can build: those with pins of a seed, sorted.
builtins.filter (system: builtins.pathExists (./pins + "/${system}/seed.json")) (
  builtins.attrNames (builtins.readDir ./pins)
)
