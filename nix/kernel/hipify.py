"""Translates a CUDA source, and the headers of its kernel that it includes, to HIP in place, as
torch does for its own extensions. Prints the path of the translation.

Usage: hipify.py TORCH_HIPIFY SOURCE [INCLUDE_DIR...], in the kernel's folder
"""

import contextlib
import os
import sys

tools, source, *include = sys.argv[1:]
sys.path.insert(0, tools)

from hipify import hipify_python  # noqa: E402

root = os.getcwd()
path = os.path.join(root, source)
# It reports on stdout.
with contextlib.redirect_stdout(sys.stderr):
    results = hipify_python.hipify(
        project_directory=root,
        output_directory=root,
        header_include_dirs=[os.path.join(root, dir) for dir in include],
        includes=[os.path.join(root, "*")],
        extra_files=[path],
        is_pytorch_extension=True,
        hipify_extra_files_only=True,
    )
result = results.get(path)
if result is None or result.hipified_path is None:
    sys.exit(f"error: hipify says nothing of {source}")
print(os.path.relpath(result.hipified_path, root))
