# An archive of headers that build.toml describes -> the folders in which compilers search.
{ pins, run }:
{
  # The name in build.toml: `[dependencies.<name>]`.
  name,
  file,
  sha256,
  urls ? [ ],
  # The folders of the archive that hold headers.
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
