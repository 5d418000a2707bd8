"""Prints how the kernels client reads each build.toml under a folder, as JSON.

Folder by folder, the kernels that each backend depends on, or the error.

Driven by conformance.rs, which compares it with what this program makes of them.
"""

import json
import sys
from pathlib import Path

from kernels import _rust


def judge(folder: Path) -> dict:
    try:
        build = _rust.Build.open(folder)
    except ValueError as error:
        return {"error": str(error)}
    return {
        str(backend): sorted(
            f"{dependency.repo_id} {dependency.version!r}" for dependency in build.all_kernel_depends(backend)
        )
        for backend in build.general.backends
    }


def main() -> None:
    root = Path(sys.argv[1])
    folders = sorted(path.parent for path in root.rglob("build.toml"))
    json.dump({folder.name: judge(folder) for folder in folders}, sys.stdout)


if __name__ == "__main__":
    main()
