#!/usr/bin/env bash
# Makes a virtual environment with stock CMake and Ninja and the packages of another one: torch and
# the client. Usage: cmake-venv.sh DIR OTHER. Wheels are those of these hashes.
set -euo pipefail
dir=$1 other=$2
[ ! -e "$dir/.complete" ] || exit 0

python3 -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r /dev/stdin <<'END'
cmake==4.4.4 --hash=sha256:f773a0544c66370408f451acd487c2c643b0dfebb48c5d64f3638bc1bb820238
ninja==1.13.2 --hash=sha256:65a24341b5ac09fcadcc37082660be40a94174e51a937fabf6e2cae26225fa2c
setuptools==84.2.1 --hash=sha256:ca140b45d5325a9478f880e351484f62fef15f336462e449ca0c03c873d589c2
wheel==0.48.0 --hash=sha256:3217dcc807155e45db462d7ef2431f5ddda0d7273b700d05a67b271ceb1287ab
apache-tvm-ffi==0.1.9 --hash=sha256:21365abd2a2a1a6d3b4e6e4f048309651125becfa795440c3607f3cc27d30ac7
packaging==26.3 --hash=sha256:d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c
END
# NB: behind its own packages, so that its setuptools is the newer one.
site=$(echo "$dir"/lib/python3.*/site-packages)
echo "$(cd "$other" && pwd)"/lib/python3.*/site-packages >"$site/other.pth"
touch "$dir/.complete"
