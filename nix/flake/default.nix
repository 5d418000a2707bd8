# The outputs of a kernel's flake. lib/genFlakeOutputs.nix says what they are; here is only how they are put together.
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
  names = map (variant: variant.variant);
  wanted = names (import ./select.nix { inherit torchVersions; } kernel.variants);
  of = system: builtins.filter (variant: builtins.elem variant.variant wanted) (kernel.on system);
  # Those that can build here; the table may have others.
  systems = builtins.filter (
    system: builtins.elem system (import ../systems.nix) && of system != [ ]
  ) kernel.systems;

  pythonPackages = import ./python-packages.nix { inherit root; };
  outputs = builtins.listToAttrs (
    map (system: {
      name = system;
      value = import ./system.nix {
        inherit doGetKernelCheck root system;
        isChosen = torchVersions != null;
        pythonInputs = [
          pythonCheckInputs
          pythonNativeCheckInputs
        ];
        inherit pythonPackages;
        inherit (kernel) hub name;
        variants = of system;
      };
    }) systems
  );
  kind =
    name:
    let
      having = builtins.filter (system: outputs.${system} ? ${name}) systems;
    in
    builtins.listToAttrs (
      map (system: {
        name = system;
        value = outputs.${system}.${name};
      }) having
    );

  # Once per evaluation: the result is one value. NB: `self` itself is not looked at, since it holds that value.
  warn = condition: words: if condition then builtins.trace "warning: ${words}" else value: value;
in
warn (!args ? self && !args ? rev)
  "genFlakeOutputs: pass `inherit self`, so that the flake's own outputs can be told apart"
  (
    warn (args ? rev)
      "genFlakeOutputs: `rev` is not needed any more, a build is named after its content: pass `inherit self` in its place"
      {
        packages = kind "packages";
        apps = kind "apps";
        checks = kind "checks";
        devShells = kind "devShells";
        formatter = kind "formatter";
        legacyPackages = kind "legacyPackages";
        lib = {
          # Names of variants: of all systems, and by system.
          variants = wanted;
          archVariants = builtins.listToAttrs (
            map (system: {
              name = system;
              value = names (of system);
            }) systems
          );
        };
      }
  )
