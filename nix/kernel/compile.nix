# One translation unit -> one object file. Its inputs are that file, the headers it can see, its flags and its
# toolchain: nothing else, so nothing else makes it compile again.
{ run }:
{
  # Store name of the derivation.
  name,
  # From nix/default.nix `toolchain`.
  toolchain,
  # "gcc", "g++" or "nvcc".
  driver,
  # The file, as a store path, and its path in the kernel's folder, which is also where it lies when compiled.
  file,
  source,
  # A tree of the headers that it can see, laid out like the kernel's folder.
  headers,
  # Folders of the kernel that are searched for headers.
  include,
  # Flags in the order in which the driver gets them. They hold no store path.
  flags,
  # How it registers operators: "none", "linked" (the link defines the namespace) or "compiled" (the unit needs it).
  registration,
  # The op namespace where it is compiled in, else null.
  namespace,
}:
run {
  inherit
    name
    driver
    file
    source
    headers
    include
    flags
    ;
  script = ./compile.sh;
  needsShell = driver == "nvcc";
  tools = [ toolchain.host.bin ];
  registrationHeader = if registration == "none" then "" else ../../templates/torch/registration.h;
  namespace = if namespace == null then "" else namespace;
  system_include =
    toolchain.torch.include
    ++ toolchain.python.include
    ++ (if toolchain.cuda == null then [ ] else toolchain.cuda.include);
  # Where these headers lie must not reach the object.
  prefixes = [
    toolchain.torch.prefix
  ]
  ++ (if toolchain.cuda == null then [ ] else toolchain.cuda.include);
  nvcc = if driver == "nvcc" then "${toolchain.cuda.toolkit}/bin/nvcc" else "";
}
