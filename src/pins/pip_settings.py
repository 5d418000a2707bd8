"""Prints pip's own settings as JSON: its indexes in order, its certificates, its proxy, and whether
it has other places of files."""

import ast
import json
import subprocess
import sys

listing = subprocess.run(
    [sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, text=True, check=True
).stdout
settings = {}
for key, value in (line.split("=", 1) for line in listing.splitlines() if "=" in line):
    settings[key] = ast.literal_eval(value)


def setting(name):
    """The value of a setting; environment variables win over files."""
    scopes = [":env:.", "install.", "download.", "global."]
    return next((settings[scope + name] for scope in scopes if scope + name in settings), None)


first = setting("index-url")
if first is None:
    from pip._internal.models.index import PyPI

    first = PyPI.simple_url
indexes = [] if setting("no-index") else [first, *(setting("extra-index-url") or "").split()]
print(
    json.dumps(
        {
            "indexes": indexes,
            "cert": setting("cert"),
            "proxy": setting("proxy"),
            "links": bool(setting("find-links")),
        }
    )
)
