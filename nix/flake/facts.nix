# What is compared of a variant, from the names of its toolchains, e.g. "torch-2.11.0" and "cuda-13.0".
variant:
let
  toolchain = variant.toolchain or { };
  versionOf =
    kind:
    if toolchain.${kind} or null == null then
      null
    else
      builtins.substring (builtins.stringLength kind + 1) (-1) toolchain.${kind};
  majorMinor =
    version:
    let
      parts = builtins.splitVersion version;
    in
    builtins.concatStringsSep "." (
      builtins.genList (builtins.elemAt parts) (
        if builtins.length parts < 2 then builtins.length parts else 2
      )
    );
  torch = versionOf "torch";
in
{
  inherit (variant) backend bundle;
  # Null for Python alone.
  system = variant.system or null;
  name = variant.variant;
  # "2.11"; null for what does not depend on a torch.
  torch = if torch == null then null else majorMinor torch;
  # False for the older C++ ABI, which the name says.
  cxx11Abi = builtins.match "torch[0-9]+-cxx98-.*" variant.variant == null;
  # Version of the compute toolkit, or null.
  compute = versionOf variant.backend;
}
