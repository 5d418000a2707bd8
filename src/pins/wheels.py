"""Fetches wheels by HTTP ranges, from the index that pip is configured with: what pip itself cannot.

wheels.py members PROJECT FILE FOLDER PATTERN...: only members that match ("*" is any run of characters but "/"). A
wheel is a zip file with its directory at the end, so a few small reads stand for hundreds of megabytes.
wheels.py whole PROJECT FILE TARGET: the file, continuing a TARGET that an earlier run left unfinished.
"""

import ast
import html
import io
import os
import re
import ssl
import subprocess
import sys
import urllib.request
import zipfile
from urllib.parse import unquote, urljoin


def pip_settings():
    """pip's options by name, of its environment variables before its files."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    settings = {}
    for key, value in (line.split("=", 1) for line in listing.splitlines() if "=" in line):
        settings[key] = ast.literal_eval(value)
    order = [":env:.", "install.", "download.", "global."]
    return lambda name: next((settings[scope + name] for scope in order if scope + name in settings), None)


def indexes(setting):
    """Simple-index URLs, in pip's order."""
    first = setting("index-url")
    if first is None:
        from pip._internal.models.index import PyPI

        first = PyPI.simple_url
    return [first, *(setting("extra-index-url") or "").split()]


class Remote(io.RawIOBase):
    """A file on a server, read by ranges."""

    def __init__(self, url, opener):
        self.url, self.open, self.position = url, opener, 0
        with self.open(urllib.request.Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.position

    def seek(self, offset, whence=io.SEEK_SET):
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        self.position = start + offset
        return self.position

    def readinto(self, buffer):
        count = min(len(buffer), self.size - self.position)
        if count <= 0:
            return 0
        span = f"bytes={self.position}-{self.position + count - 1}"
        with self.open(urllib.request.Request(self.url, headers={"Range": span})) as answer:
            if answer.status != 206:
                sys.exit("the index does not serve parts of files")
            data = answer.read()
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)


def find(project, file, setting, opener):
    for index in indexes(setting):
        with opener(f"{index.rstrip('/')}/{project}/") as page:
            base, text = page.url, page.read().decode()
        for link in re.findall(r"""href=["']([^"']+)["']""", text):
            url = html.unescape(link).partition("#")[0]
            if unquote(url.rsplit("/", 1)[-1]) == file:
                return urljoin(base, url)
    sys.exit(f"no index of pip's configuration lists {file}")


def members(remote, target, globs):
    """Extracts some members into the folder `target`."""
    patterns = [re.compile("[^/]*".join(map(re.escape, glob.split("*")))) for glob in globs]
    with zipfile.ZipFile(io.BufferedReader(remote, 1 << 18)) as wheel:
        for member in wheel.infolist():
            if any(pattern.fullmatch(member.filename) for pattern in patterns):
                # zipfile's own extract() keeps members inside of the target.
                wheel.extract(member, target)
                os.chmod(os.path.join(target, member.filename), 0o644)


def whole(remote, target):
    """Downloads the file to `target`, from where an earlier, killed run ended."""
    with open(target, "ab") as file:
        remote.seek(file.tell())
        while data := remote.read(1 << 25):
            file.write(data)


def main():
    what, project, file, target, *globs = sys.argv[1:]
    setting = pip_settings()
    context = ssl.create_default_context(cafile=setting("cert"))

    def opener(request):
        return urllib.request.urlopen(request, context=context, timeout=60)

    remote = Remote(find(project, file, setting, opener), opener)
    if what == "members":
        members(remote, target, globs)
    else:
        whole(remote, target)


main()
