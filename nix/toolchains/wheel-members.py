"""Unpacks a folder of a wheel, of any size.

Usage: wheel-members.py WHEEL FOLDER TARGET
"""

import sys
import zipfile

wheel, folder, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    members = [name for name in archive.namelist() if name.startswith(folder + "/")]
    if not members:
        sys.exit(f"error: no {folder} in {wheel}")
    archive.extractall(target, members)
