"""src/pins/wheels.py against an index on loopback, with and without support for ranges."""

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "src" / "pins" / "wheels.py"
WHEEL = "some_project-1.0-py3-none-any.whl"


@pytest.fixture(params=[True, False], ids=["ranges", "no-ranges"])
def index(request, tmp_path):
    """A simple index that holds one wheel, and what was asked of it."""
    wheel = tmp_path / WHEEL
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("nvidia/cu13/include/a.h", "#pragma once\n" * 1000)
        archive.writestr("nvidia/cu13/include/deep/b.h", "deep")
        archive.writestr("nvidia/cu13/lib/big.so", os.urandom(3_000_000))
    content = wheel.read_bytes()
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.answer(200, content)

        def do_GET(self):
            if self.path == "/simple/some-project/":
                digest = hashlib.sha256(content).hexdigest()
                page = f'<a href="../../files/{WHEEL}#sha256={digest}" data-x="&gt;">{WHEEL}</a>'
                return self.answer(200, page.encode())
            span = self.headers.get("Range")
            if span and request.param:
                first, last = map(int, span.removeprefix("bytes=").split("-"))
                return self.answer(206, content[first : last + 1])
            return self.answer(200, content)

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                sent.append(len(body))
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def run(what, target, *patterns):
        env = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple"}
        command = [sys.executable, SCRIPT, what, "some-project", WHEEL, target, *patterns]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    yield run, content, sent, request.param
    server.shutdown()


def test_members_come_without_the_rest(index, tmp_path):
    run, content, sent, ranges = index
    result = run("members", tmp_path / "out", "nvidia/*/include/*.h")
    if not ranges:
        assert result.returncode != 0 and "does not serve parts" in result.stderr
        return
    assert result.returncode == 0, result.stderr
    assert [str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.h")] == [
        "nvidia/cu13/include/a.h"
    ]
    assert sum(sent) < len(content) / 2


def test_a_download_goes_on_where_it_ended(index, tmp_path):
    run, content, sent, ranges = index
    target = tmp_path / "partial"
    target.write_bytes(content[:1_000_000])
    result = run("whole", target)
    if not ranges:
        assert result.returncode != 0
        assert target.read_bytes() == content[:1_000_000]
        return
    assert result.returncode == 0, result.stderr
    assert target.read_bytes() == content
    assert sum(sent) < len(content) - 900_000
