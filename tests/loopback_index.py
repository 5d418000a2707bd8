"""A package index on this machine that misbehaves on demand: tests/fetch says how. tests/pins.rs
uses it, too.

loopback_index.py DIR serves DIR/files/NAME as /files/NAME (wheels and source distributions also on
/simple/PROJECT/, Debian packages in /deb/), prints its port, and writes a line of JSON to DIR/log
for each request of a file: name, first byte, bytes sent.

DIR/behaviour.json: {"ranges": false, "rate": bytes per second, "faults": {NAME: [FAULT...]}}. Each
request of a file takes the next fault: "ok"; "stall:N" and "cut:N" send N bytes, then nothing, or
the end of the connection at once; "wrong" sends other bytes; "status:N" an error; "wait:NAME" waits
until another file was requested; "drip" sends a byte now and then; "only:FAULT" is never used up.
"hashes": true lists wheels with theirs. "listing": N waits N seconds within each list of Debian
packages. "silent": true answers no request. "page" answers requests of pages of projects with:
"endless", a page without an end; "headers", a header each half second; "file", a redirect to a
file.
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(sys.argv[1])
LOCK = threading.Lock()
COUNTS = {}


def behaviour():
    path = ROOT / "behaviour.json"
    return json.loads(path.read_text()) if path.exists() else {}


def next_fault(name):
    faults = behaviour().get("faults", {}).get(name, [])
    with LOCK:
        count = COUNTS[name] = COUNTS.get(name, 0) + 1
    if faults and faults[0].startswith("only:"):
        return faults[0].removeprefix("only:")
    return faults[count - 1] if count <= len(faults) else "ok"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if behaviour().get("silent"):
            self.connection.settimeout(60)
            return self.rfile.read(1)
        kind, _, rest = self.path.lstrip("/").partition("/")
        if kind == "simple" and (page := behaviour().get("page")):
            self.hostile_page(page)
        elif kind == "simple":
            prefix = rest.strip("/").replace("-", "_") + "-"
            names = [path.name for path in (ROOT / "files").iterdir() if path.name.startswith(prefix)]
            names = [name for name in names if name.endswith((".whl", ".tar.gz"))]
            self.page("".join(map(link, sorted(names))))
        elif kind == "deb" and rest in ("Packages", "./Packages"):
            self.page(packages(), behaviour().get("listing", 0))
        elif kind == "deb" and rest in ("Release", "./Release") and "listing" in behaviour():
            text = packages().encode()
            digest = hashlib.sha256(text).hexdigest()
            release = f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {digest} {len(text)} Packages\n"
            self.page(release, behaviour()["listing"])
        elif kind in ("files", "deb") and (ROOT / "files" / Path(rest).name).is_file():
            self.file(Path(rest).name)
        else:
            self.send_error(404)

    def do_HEAD(self):
        path = ROOT / "files" / Path(self.path).name
        if not path.is_file():
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()

    def hostile_page(self, page):
        with LOCK, (ROOT / "agents").open("a") as log:
            log.write(self.headers.get("User-Agent", "") + "\n")
        try:
            if page == "file":
                self.send_response(302)
                self.send_header("Location", "file:///etc/passwd")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
            if page == "endless":
                self.wfile.write(b"\r\n")
            while True:
                self.wfile.write(b"<a>" * (1 << 14) if page == "endless" else b"X-Drip: 1\r\n")
                self.wfile.flush()
                time.sleep(0 if page == "endless" else 0.5)
        except OSError:
            self.close_connection = True

    def page(self, text, pause=0):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.flush()
        time.sleep(pause)
        self.wfile.write(body)

    def file(self, name):
        content = (ROOT / "files" / name).read_bytes()
        fault, _, number = next_fault(name).partition(":")
        if fault == "status":
            return self.send_error(int(number))
        while fault == "wait" and number not in COUNTS:
            time.sleep(0.05)
        first, end = 0, len(content)
        span = self.headers.get("Range")
        if span and behaviour().get("ranges", True):
            low, _, high = span.removeprefix("bytes=").partition("-")
            first, end = int(low), min(int(high) + 1 if high else end, end)
            if first >= end:
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - first))
        self.end_headers()
        body = content[first:end]
        if fault == "wrong":
            body = body.translate(bytes(byte ^ 1 for byte in range(256)))
        if fault in ("stall", "cut"):
            body = body[: int(number)]
        if fault == "drip":
            return self.drip(body)
        sent = self.send(name, first, body)
        if fault == "stall" and sent == len(body):
            # The client has its own idea of how long to wait.
            self.connection.settimeout(60)
            self.rfile.read(1)
        self.close_connection = True

    def drip(self, body):
        self.close_connection = True
        try:
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.2)
        except OSError:
            pass

    def send(self, name, first, body):
        sent = 0
        rate = behaviour().get("rate")
        try:
            while sent < len(body):
                piece = body[sent : sent + (1 << 14)]
                self.wfile.write(piece)
                sent += len(piece)
                if rate:
                    time.sleep(len(piece) / rate)
        except OSError:
            pass
        with LOCK, (ROOT / "log").open("a") as log:
            log.write(json.dumps({"name": name, "first": first, "sent": sent}) + "\n")
        return sent

    def log_message(self, *_):
        pass


def link(name):
    digest = hashlib.sha256((ROOT / "files" / name).read_bytes()).hexdigest()
    fragment = f"#sha256={digest}" if behaviour().get("hashes") else ""
    return f'<a href="../../files/{name}{fragment}" data-x="&gt;">{name}</a>\n'


def packages():
    return "".join(map(stanza, sorted((ROOT / "files").glob("*.deb"))))


def stanza(deb):
    name, version, architecture = deb.stem.split("_")
    content = deb.read_bytes()
    return (
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: nobody\n"
        f"Description: made up\nFilename: ./{deb.name}\nSize: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n"
    )


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
