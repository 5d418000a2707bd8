# An archive of headers that build.toml describes -> its folders that compilers search.
{ pins, run }:
{
  # Under which build.toml has it.
  name,
  file,
  sha256,
  urls ? [ ],
  # Folders of the archive.
  include,
}:
let
  unpacked = run {
    name = "${name}-headers";
    script = ./header-archive.sh;
    archive = pins.archive { inherit file sha256 urls; };
    inherit file include;
    dependency = name;
  };
in
map (folder: "${unpacked}/${folder}") include
