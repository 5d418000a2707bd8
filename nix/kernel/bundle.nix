# Built variants in one folder, which can be uploaded, and which `kernels.get_local_kernel` loads
# from. Files beside each variant say of which inputs it was built. NB: the kernel's revision enters
# here alone, after all steps of the build, so that a commit repeats none of them.
{
  # From families.nix.
  familiesOf,
  # The Python that runs attest.py; null: the one of the machine.
  interpreter,
  # The files of nix/pins by the name of their family.
  familyFiles,
  run,
}:
{
  # The store name.
  name,
  # The kernel's name.
  kernel,
  # From default.nix.
  variants,
  # `commit` and `dirty` of the kernel's source, or null.
  revision,
}:
run {
  inherit kernel name revision;
  script = ./bundle.sh;
  attestScript = ./attest.py;
  version = import ../version.nix;
  variants = map (variant: variant.package) variants;
  inputs = map (variant: {
    inherit (variant) archives plan sources;
    # NB: the derivation without its output brings all derivations that it needs, as files, and no
    # output of theirs: a package from a binary cache needs no toolchain on this machine.
    derivation = builtins.unsafeDiscardOutputDependency variant.package.drvPath;
    families = builtins.listToAttrs (
      map (name: {
        inherit name;
        value = familyFiles.${name};
      }) (familiesOf variant)
    );
  }) variants;
  tools = if interpreter == null then [ ] else [ interpreter ];
  # Copying takes less time than asking or reaching another machine.
  preferLocalBuild = true;
  # A kernel goes to machines without Nix.
  allowedReferences = [ ];
}
