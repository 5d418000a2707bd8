# The largest number of headers or objects of which each is an input of its own. More of them become
# one input, a tree or a response file, since Nix takes time for every input of every derivation.
50
