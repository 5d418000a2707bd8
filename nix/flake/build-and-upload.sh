# Ends with an error: kernel-builder cannot upload yet. The program exists since flakes and CI name
# it.
set -eu
cat >&2 <<'END'
error: kernel-builder cannot upload yet: run `nix run .#build-and-copy`, then `hf upload @repo@ build build --revision @branch@`
END
exit 3
