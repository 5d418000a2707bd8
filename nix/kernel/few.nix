# How many headers or objects a derivation has as inputs of their own. More are one input, a tree or a response file: in each
# derivation that has them, Nix takes time for every input.
50
