# Formats the given Nix files, or all of the given folders.
exec @tool@/bin/kernel-builder format "$@"
