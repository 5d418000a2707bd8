"""Unpacks wheels into the current folder, with all cores: unpack_wheels.py WHEEL...

A file that several wheels have is that of the last one. Other installers do the same.
"""

import os
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

# Bytes of a file that are decompressed at once. Python's other threads run meanwhile.
CHUNK = 1 << 20


def extract(archive, member):
    with archive.open(member) as packed, open(member.filename, "wb") as file:
        shutil.copyfileobj(packed, file, CHUNK)
    # Zip files hold Unix modes above 16 other bits. Programs are executable, as pip leaves them.
    if member.external_attr >> 16 & 0o111:
        os.chmod(member.filename, 0o755)


def main(wheels):
    archives = [zipfile.ZipFile(wheel) for wheel in wheels]
    members = {
        member.filename: (archive, member)
        for archive in archives
        for member in archive.infolist()
        if not member.is_dir()
    }
    for folder in {os.path.dirname(name) for name in members} - {""}:
        os.makedirs(folder, exist_ok=True)
    # The largest first, so that no thread is left alone with one at the end.
    largest_first = sorted(members.values(), key=lambda entry: -entry[1].file_size)
    with ThreadPoolExecutor(int(os.environ.get("NIX_BUILD_CORES") or 0) or os.cpu_count()) as threads:
        for _ in threads.map(lambda entry: extract(*entry), largest_first):
            pass


main(sys.argv[1:])
