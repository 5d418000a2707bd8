#!/usr/bin/env python3
"""Measures `to-wheel` beside `python -m zipfile`, and `upload` beside huggingface_hub's
`upload_folder` with a Hub on this machine (tests/fake_hub.py), which is empty for each upload.

time-publishing.py PROGRAM PYTHON [MEGABYTES [ROUNDS]]

PROGRAM is kernel-builder as it is released, and PYTHON has huggingface_hub. A made-up variant of
Python alone holds eight files of machine code (PROGRAM's own, over and over), 1000 MB together.
Only this program checks the variant. Prints median times, sizes, and the time in which `cat` reads
it.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 8
REPOSITORY = "acme/large"
METADATA = {
    "name": "large",
    "id": "_large_cpu_1",
    "version": 1,
    "license": "MIT",
    "python-depends": [],
    "backend": {"type": "cpu"},
}
UPLOAD_FOLDER = """
import sys
from huggingface_hub import HfApi
api = HfApi()
api.create_repo(sys.argv[1])
api.create_branch(sys.argv[1], branch="v1")
api.upload_folder(repo_id=sys.argv[1], revision="v1", folder_path=sys.argv[2], path_in_repo="build")
"""


def write_variant(folder, content, size):
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "metadata.json").write_text(json.dumps(METADATA))
    for number in range(FILES):
        # NB: each file begins elsewhere, so that none is the copy of another.
        pieces = itertools.cycle([content[number * 4096 :], content[: number * 4096]])
        with open(folder / f"data{number}.bin", "wb") as file:
            while file.tell() < size:
                file.write(next(pieces)[: size - file.tell()])


def seconds(command, environment=None):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.monotonic() - start


def upload_seconds(command, size):
    """The time of one upload to an empty Hub, which has the whole variant afterwards."""
    with tempfile.TemporaryDirectory() as home:
        fake_hub = Path(__file__).resolve().parent.parent / "tests" / "fake_hub.py"
        hub = subprocess.Popen([sys.executable, fake_hub, home], stdout=subprocess.PIPE, text=True)
        try:
            own = {"HF_ENDPOINT": f"http://127.0.0.1:{int(hub.stdout.readline())}", "HF_HOME": home}
            own |= {"HF_TOKEN": "hf_made_up", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
            took = seconds(command, os.environ | own)
            requests = [json.loads(line) for line in (Path(home) / "log").read_text().splitlines()]
            received = sum(request["received"] for request in requests)
            assert received >= size, f"the Hub has only {received} bytes"
            return took
        finally:
            hub.terminate()
            hub.wait()


def main(program, python, megabytes=1000, rounds=3):
    program = str(Path(program).resolve())
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        build = work / "build"
        variant = build / "torch-cpu"
        size = int(megabytes) * 10**6 // FILES
        write_variant(variant, Path(program).read_bytes(), size)
        subprocess.run([program, "hash", work], check=True, stdout=subprocess.DEVNULL)
        os.sync()
        files = sorted(variant.glob("*.bin"))
        archive, dist = work / "large.zip", work / "dist"
        upload = [program, "upload", work, "--repo-id", REPOSITORY]
        measures = {
            "cat": lambda: seconds(["cat", *files]),
            "python -m zipfile": lambda: seconds([sys.executable, "-m", "zipfile", "-c", archive, variant]),
            "to-wheel": lambda: seconds([program, "to-wheel", work, "--out", dist]),
            "upload_folder": lambda: upload_seconds([python, "-c", UPLOAD_FOLDER, REPOSITORY, build], size * FILES),
            "upload": lambda: upload_seconds(upload, size * FILES),
        }
        times = {name: [] for name in measures}
        for _ in range(int(rounds)):
            for name, measure in measures.items():
                times[name].append(measure())
        for name, own in times.items():
            print(f"{name}: median {statistics.median(own):.1f} s of {len(own)}")
        wheel = next(dist.glob("*.whl"))
        for path in (archive, wheel):
            print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
