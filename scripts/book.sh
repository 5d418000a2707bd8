#!/usr/bin/env bash
# Builds the book of docs/ into target/book, with an mdbook that it installs below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
mdbook=target/mdbook-$version
# NB: without optimisation, the search and the server, it compiles in a fraction of the time.
[ -x "$mdbook/bin/mdbook" ] ||
    cargo install --quiet --locked --debug --no-default-features --version "$version" --root "$mdbook" mdbook
"$mdbook/bin/mdbook" build
