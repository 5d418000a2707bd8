# The number of headers or objects up to which each is an input of its own. More become one input, a
# tree or a response file, since Nix takes time for every input of every derivation.
50
