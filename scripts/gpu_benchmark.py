#!/usr/bin/env python3
"""Tests and measures builds on a machine that has a GPU and no Nix, as `kernel-builder test` and
`kernel-builder benchmark` do elsewhere. It needs torch, pytest and the `kernels` client, this
repository, and builds.

scripts/gpu_benchmark.py BUILDS OUT KERNEL... BUILDS has the builds of each kernel as
<name>/build/<variant>, a KERNEL is its folder, such as examples/relu. The measurements of each
build are written to OUT/<name>-<variant>.json.

Where the builds are made:

    v=torch211-cxx11-cu130-x86_64-linux
    for name in relu img2gray; do
        kernel-builder build examples/$name --variant $v
        mkdir -p .gpu/$name/build && cp -r examples/$name/build/$v .gpu/$name/build/
    done

On the machine with the GPU:

    python3 scripts/gpu_benchmark.py .gpu "$OUT" examples/relu examples/img2gray

And for the table and the plot, where kernel-builder is:

    kernel-builder benchmark examples/relu --measured relu-$v.json --plot relu.svg
"""

import json
import subprocess
import sys
from pathlib import Path

TRIAL = Path(__file__).resolve().parents[1] / "templates" / "trial"


def run(program, *arguments):
    return subprocess.run([sys.executable, TRIAL / program, *map(str, arguments)]).returncode


def main(builds, out, kernels):
    failed = []
    for kernel in kernels:
        kernel = Path(kernel).resolve()
        folders = sorted((Path(builds).resolve() / kernel.name / "build").iterdir())
        for variant in folders:
            label = f"{kernel.name}-{variant.name}"
            print(f"== {label}", flush=True)
            metadata = json.loads((variant / "metadata.json").read_text())
            names = [kernel, variant, metadata["name"].replace("-", "_"), f"kernel-builder/{kernel.name}"]
            if run("run_tests.py", *names, "-q"):
                failed.append(f"tests of {label}")
            file = Path(out).resolve() / f"{label}.json"
            if run("run_benchmarks.py", *names, variant, metadata["backend"]["type"], 100, 20, file):
                failed.append(f"benchmarks of {label}")
                continue
            # The name of the build, not its place on this machine.
            measured = json.loads(file.read_text())
            file.write_text(json.dumps({**measured, "build": variant.name}))
            for workload in measured["workloads"]:
                print(workload["name"], "wrong" if workload.get("matches") is False else "measured")
                if workload.get("matches") is False:
                    failed.append(f"{workload['name']} of {label}")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
