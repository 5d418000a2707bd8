#!/usr/bin/env bash
# Builds CMake projects of two examples on a machine with a GPU, nvcc and a Python with torch, and
# compares them with torch there.
# Usage: gpu-cmake.sh prepare   here: projects, and wheels of CMake, in target/gpu-cmake
#        gpu-cmake.sh run       there, with a copy of that folder: builds and runs
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/target/gpu-cmake
examples=(relu img2gray)
task=${1-}
set --

case $task in
prepare)
    # shellcheck disable=SC1091
    . scripts/program.sh
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$folder/wheels" \
        cmake==4.4.4 ninja==1.13.2 setuptools==84.2.1 wheel==0.48.0 packaging==26.3
    for example in "${examples[@]}"; do
        git ls-files -z "examples/$example" | tar --create --null --files-from - | tar --extract --directory "$folder"
        # shellcheck disable=SC2154
        "$program" create-pyproject "$folder/examples/$example"
    done
    ;;
run)
    # NB: torch comes from the machine's own Python, which may be one of a virtual environment.
    packages=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])')
    python3 -m venv --clear "$folder/venv"
    for site in "$folder"/venv/lib/python3.*/site-packages; do echo "$packages" >"$site/machine.pth"; done
    PATH=$folder/venv/bin:$PATH
    command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
    pip install --quiet --no-index --find-links "$folder/wheels" cmake ninja setuptools wheel packaging
    for example in "${examples[@]}"; do
        cd "$folder/examples/$example"
        pip install --no-index --no-build-isolation -e .
    done
    cd "$folder"
    python - <<'END'
import torch

import img2gray
import relu

print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}: {relu.__file__}")
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    x = torch.randn(1025, 1031, device="cuda").to(dtype)
    torch.testing.assert_close(relu.relu(x), torch.relu(x), rtol=0, atol=0)
image = torch.randint(0, 256, (2, 3, 37, 53), dtype=torch.uint8, device="cuda")
weights = torch.tensor([0.21, 0.72, 0.07], device="cuda", dtype=torch.float64).view(1, 3, 1, 1)
gray = img2gray.img2gray(image)
difference = (gray.double() - (image.double() * weights).sum(dim=1, keepdim=True)).abs().max().item()
assert difference <= 1, difference
print("relu equals torch; img2gray differs by at most", difference)
END
    # An edit, and a build of that file alone.
    cd "$folder/examples/relu"
    echo '// edited' >>csrc/relu_cuda.cu
    time cmake --build build/cmake/tree --target editable
    # Plain CMake, for the client.
    cmake -G Ninja -B build-ext && cmake --build build-ext
    cat build/*/metadata.json
    if python -c 'import kernels, pytest'; then LOCAL_KERNELS='' python -m pytest -q tests; fi
    ;;
*)
    sed -n 2,5p "$0" >&2
    exit 2
    ;;
esac
