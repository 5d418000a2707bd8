"""Loads a built kernel as `kernels.get_local_kernel` does for a user: load.py BUNDLE BACKEND."""

import sys
from pathlib import Path

from kernels import get_local_kernel

bundle, backend = sys.argv[1:]
kernel = get_local_kernel(Path(bundle), backend=backend)
print("loaded", kernel.__name__)
