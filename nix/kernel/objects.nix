# Objects -> a response file that lists them, which compilers and binutils read as `@file`.
# Libraries that share the objects have it as one input.
{ run }:
{
  name,
  objects,
  # The driver that compiled the objects. NB: src/steps recognizes response files by this attribute.
  objectsOf,
}:
run {
  inherit name objects objectsOf;
  script = ./objects.sh;
}
