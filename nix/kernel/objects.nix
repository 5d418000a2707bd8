# Objects -> a response file, which compilers and binutils read as `@file`: one input of the many
# libraries that share them.
{ run }:
{
  name,
  objects,
  # The driver that compiled them. NB: src/steps knows these lists by it.
  objectsOf,
}:
run {
  inherit name objects objectsOf;
  script = ./objects.sh;
}
