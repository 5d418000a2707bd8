# The names of the families of pins that the steps of a variant may need. NB: `families` of
# src/matrix/table.rs and src/matrix/variant.rs name the same (tests/plan/agreement.rs).
{
  pins,
  # The Python of steps that every variant has.
  stepPython,
}:
variant:
let
  toolchain = variant.toolchain or { };
  headerLibraries = builtins.concatMap (
    component: builtins.concatMap (group: group.headerLibraries or [ ]) component.units
  ) variant.plan.components or [ ];
in
builtins.filter pins.hasFamily (
  [
    "seed"
    stepPython
  ]
  ++ builtins.attrValues toolchain
  ++ (if toolchain ? cuda then [ "${toolchain.cuda}-headers" ] else [ ])
  ++ headerLibraries
)
