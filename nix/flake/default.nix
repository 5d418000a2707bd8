# The outputs of a kernel's flake, which lib/genFlakeOutputs.nix describes: puts together the
# outputs of each system (./system.nix).
{
  self ? null,
  path,
  rev ? null,
  doGetKernelCheck ? true,
  pythonCheckInputs ? _: [ ],
  pythonNativeCheckInputs ? _: [ ],
  torchVersions ? null,
}@args:
let
  root = if builtins.isPath path then path else /. + builtins.unsafeDiscardStringContext "${path}";
  kernel = import ./kernel.nix { inherit root; };
  namesOf = map (variant: variant.variant);
  wanted = namesOf (import ./select.nix { inherit torchVersions; } kernel.variants);
  variantsOn =
    system: builtins.filter (variant: builtins.elem variant.variant wanted) (kernel.variantsOn system);
  # Systems of the kernel's variants that can build. The release table may name others.
  systems = builtins.filter (
    system: builtins.elem system (import ../systems.nix) && variantsOn system != [ ]
  ) kernel.systems;

  revision = import ./revision.nix { inherit self; };
  pythonPackages = import ./python-packages.nix { inherit root; };
  outputs = builtins.listToAttrs (
    map (system: {
      name = system;
      value = import ./system.nix {
        inherit
          doGetKernelCheck
          revision
          root
          system
          ;
        isChosen = torchVersions != null;
        pythonInputs = [
          pythonCheckInputs
          pythonNativeCheckInputs
        ];
        inherit pythonPackages;
        inherit (kernel) hub name;
        variants = variantsOn system;
      };
    }) systems
  );
  # One output of all systems that have it, e.g. "packages", by system.
  outputBySystem =
    name:
    let
      systemsWithIt = builtins.filter (system: outputs.${system} ? ${name}) systems;
    in
    builtins.listToAttrs (
      map (system: {
        name = system;
        value = outputs.${system}.${name};
      }) systemsWithIt
    );

  # Prints a warning when the result is first evaluated, once.
  # NB: it must not look at `self`, which holds this result.
  warn = condition: words: if condition then builtins.trace "warning: ${words}" else value: value;
in
warn (!args ? self && !args ? rev)
  "genFlakeOutputs: pass `inherit self`, so that the flake's own outputs can be told apart"
  (
    warn (args ? rev)
      "genFlakeOutputs: `rev` is not needed any more, a build is named after its content: pass `inherit self` in its place"
      {
        packages = outputBySystem "packages";
        apps = outputBySystem "apps";
        checks = outputBySystem "checks";
        devShells = outputBySystem "devShells";
        formatter = outputBySystem "formatter";
        legacyPackages = outputBySystem "legacyPackages";
        lib = {
          # The names of all variants, and by system, each list with the best first.
          variants = wanted;
          archVariants = builtins.listToAttrs (
            map (system: {
              name = system;
              value = namesOf (variantsOn system);
            }) systems
          );
        };
      }
  )
