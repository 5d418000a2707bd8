"""A Hub on this machine, for tests: branches, commits, large files and organisations of kernels, as
the `kernels` client, huggingface_hub, hf-hub and this program ask for them. tests/hub proves it
with these clients.

fake_hub.py DIR prints its port, and writes a line of JSON to DIR/log for each request: method,
path, status, bytes received, whether it had a token, and the fault if there was one.

DIR/behaviour.json, read at each request: "token", which writes need; "page": files in a page of a
list; "piece": bytes of each piece of a large upload; "faults": a list of {"on": regular expression
for "METHOD /path", "fault": ..., "times": N}, each used up after N requests. A fault is "status:N",
"retry:N" (the same with Retry-After: 0), "slow:SECONDS", "cut" (the connection ends), "lost" (the
request is done, and the connection ends before the answer), "lie" (wrong bytes), or "garbage" (no
JSON).
"""

import base64
import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

ROOT = Path(sys.argv[1])
LOCK = threading.RLock()
KINDS = {"kernels": "kernel", "models": "model", "datasets": "dataset", "spaces": "space"}
REPOSITORIES = {}
LARGE = {}
PIECES = {}
USED = {}


def behaviour():
    path = ROOT / "behaviour.json"
    return json.loads(path.read_text()) if path.exists() else {}


def blob_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def pointer(oid, size):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n".encode()


class File:
    """A file of a commit; a large one is stored by its sha256."""

    def __init__(self, content, large=False):
        self.content = content
        self.oid = hashlib.sha256(content).hexdigest() if large else None
        self.blob = blob_id(pointer(self.oid, len(content)) if large else content)

    def entry(self, path):
        entry = {"type": "file", "oid": self.blob, "size": len(self.content), "path": path}
        if self.oid:
            entry["lfs"] = {"oid": self.oid, "size": len(self.content), "pointerSize": 130}
        return entry


class Repository:
    def __init__(self):
        self.commits = {}
        self.branches = {}
        self.tags = {}
        self.requests = 0
        self.write("main", {".gitattributes": File(b"*.so filter=lfs\n")})

    def write(self, branch, files):
        names = sorted((path, file.blob) for path, file in files.items())
        text = repr((branch, len(self.commits), names))
        commit = hashlib.sha1(text.encode()).hexdigest()
        self.commits[commit] = files
        if branch is not None:
            self.branches[branch] = commit
        return commit

    def commit_of(self, revision):
        name = revision.removeprefix("refs/heads/").removeprefix("refs/tags/")
        known = self.branches.get(name) or self.tags.get(name)
        return known or (revision if revision in self.commits else None)


class Refusal(Exception):
    def __init__(self, status, code, message):
        self.answer = (status, {"error": message}, {"X-Error-Code": code, "X-Error-Message": message})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_request(self):
        body = self.read_body()
        fault, _, detail = self.next_fault().partition(":")
        self.outcome = 0
        try:
            if fault == "slow":
                time.sleep(float(detail))
            if fault == "cut":
                self.close_connection = True
            elif fault in ("status", "retry"):
                headers = {"Retry-After": "0"} if fault == "retry" else {}
                self.answer(int(detail), {"error": "a made-up fault"}, headers)
            elif fault == "garbage":
                self.answer(200, b"<html>a captive portal</html>", {"Content-Type": "text/html"})
            else:
                with LOCK:
                    status, content, headers = self.respond(body, fault == "lie")
                if fault == "lost":
                    self.close_connection = True
                else:
                    self.answer(status, content, headers)
        except OSError:
            self.close_connection = True
        entry = {"request": f"{self.command} {self.path}", "status": self.outcome, "received": len(body)}
        entry |= {"fault": fault} if fault else {}
        entry["authorized"] = "Authorization" in self.headers
        with LOCK, (ROOT / "log").open("a") as log:
            log.write(json.dumps(entry) + "\n")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_request

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def next_fault(self):
        for number, fault in enumerate(behaviour().get("faults", [])):
            key = (number, json.dumps(fault))
            with LOCK:
                if not re.search(fault["on"], f"{self.command} {self.path}"):
                    continue
                if USED.get(key, 0) < fault.get("times", 1):
                    USED[key] = USED.get(key, 0) + 1
                    return fault["fault"]
        return ""

    def answer(self, status, content, headers):
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        self.outcome = status
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.server.server_port}/{path}"

    def storage_url(self, path):
        """The storage of large files, which is another server than the Hub."""
        return self.url(path, "localhost")

    def respond(self, body, lie):
        address = urlsplit(self.path)
        path, query = unquote(address.path), parse_qs(address.query)
        try:
            self.check_token(path)
            for pattern, respond in ROUTES:
                if found := re.fullmatch(pattern, path):
                    return respond(self, found, body, query, lie)
            raise Refusal(404, "", f"no such page: {path}")
        except Refusal as refusal:
            return refusal.answer

    def check_token(self, path):
        wanted = behaviour().get("token")
        is_write = self.command == "POST" and not path.endswith("/objects/batch") or "preupload" in path
        is_storage = path.startswith(("/large/", "/verify/", "/complete/"))
        if wanted and is_write and not is_storage and self.headers.get("Authorization") != f"Bearer {wanted}":
            given = self.headers.get("Authorization", "no token")
            raise Refusal(401, "", f"Invalid credentials: {given}")

    def repository(self, kind, name):
        found = REPOSITORIES.get((kind, name))
        if found is None:
            raise Refusal(404, "RepoNotFound", "Repository not found")
        return found

    def revision(self, repository, name):
        commit = repository.commit_of(unquote(name))
        if commit is None:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {name}")
        return commit

    def organisation(self, found, *_):
        name = found[1]
        trusted = behaviour().get("trusted", ["acme"])
        facts = {"avatarUrl": "", "name": name, "fullname": name, "trustedKernelPublisher": name in trusted}
        return 200, facts, {}

    def who_am_i(self, *_):
        return 200, {"type": "user", "name": "acme", "fullname": "acme", "orgs": []}, {}

    def create(self, found, body, *_):
        wish = json.loads(body)
        name = f"{wish.get('organization') or 'acme'}/{wish['name']}"
        key = (wish.get("type") or "model", name)
        url = self.url(f"kernels/{name}" if key[0] == "kernel" else name)
        if key in REPOSITORIES:
            return 409, {"error": "You already created this repository", "url": url}, {}
        REPOSITORIES[key] = Repository()
        return 200, {"url": url, "name": name, "id": "0" * 24}, {}

    def info(self, found, *_):
        repository = self.repository(KINDS[found[1]], found[2])
        commit = self.revision(repository, found[3] or "main")
        facts = {"_id": "0" * 24, "id": found[2], "author": found[2].split("/")[0], "sha": commit}
        facts |= {"private": False, "gated": False, "downloads": 0, "likes": 0}
        return 200, facts | {"lastModified": "2026-01-01T00:00:00.000Z"}, {}

    def refs(self, found, *_):
        repository = self.repository(KINDS[found[1]], found[2])

        def listed(refs, folder):
            return [{"name": n, "ref": f"refs/{folder}/{n}", "targetCommit": c} for n, c in refs.items()]

        branches, tags = listed(repository.branches, "heads"), listed(repository.tags, "tags")
        return 200, {"branches": branches, "converts": [], "tags": tags}, {}

    def tag(self, found, body, *_):
        repository = self.repository(KINDS[found[1]], found[2])
        repository.tags[json.loads(body)["tag"]] = self.revision(repository, found[3])
        return 200, b"", {}

    def tree(self, found, body, query, lie):
        repository = self.repository(KINDS[found[1]], found[2])
        files = repository.commits[self.revision(repository, found[3])]
        folder = (found[4] or "").strip("/")
        start = folder + "/" if folder else ""
        recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = {}
        for path, file in sorted(files.items()):
            if not path.startswith(start):
                continue
            parts = path[len(start) :].split("/")
            for depth in range(1, len(parts) if recursive else min(2, len(parts))):
                name = start + "/".join(parts[:depth])
                oid = hashlib.sha1(name.encode()).hexdigest()
                entries.setdefault(name, {"type": "directory", "oid": oid, "size": 0, "path": name})
            if recursive or len(parts) == 1:
                entries[path] = file.entry(path)
        if folder and not entries:
            raise Refusal(404, "EntryNotFound", f"{folder} does not exist")
        if lie:
            for entry in entries.values():
                entry["oid"] = "0" * 40
                entry.pop("lfs", None)
        entries, page = list(entries.values()), behaviour().get("page")
        first = int(query.get("cursor", ["0"])[0])
        headers = {}
        if page and first + page < len(entries):
            rest = f"{urlsplit(self.path).path.lstrip('/')}?recursive={recursive}&cursor={first + page}"
            headers["Link"] = f'<{self.url(rest)}>; rel="next"'
        return 200, entries[first : first + page] if page else entries, headers

    def branch(self, found, body, *_):
        repository = self.repository(KINDS[found[1]], found[2])
        start = json.loads(body or b"{}").get("startingPoint") or "main"
        if found[3] in repository.branches:
            return 409, {"error": "Reference already exists"}, {}
        repository.branches[found[3]] = self.revision(repository, start)
        return 201, b"", {}

    def preupload(self, found, body, *_):
        repository = self.repository(KINDS[found[1]], found[2])
        commit = self.revision(repository, found[3])

        def mode(file):
            large = file["path"].endswith((".so", ".bin")) or b"\0" in base64.b64decode(file["sample"])
            return "lfs" if large else "regular"

        files = [
            {"path": file["path"], "uploadMode": mode(file), "shouldIgnore": False, "oid": None}
            for file in json.loads(body)["files"]
        ]
        return 200, {"files": files, "commitOid": commit}, {}

    def commit(self, found, body, query, _):
        repository = self.repository(KINDS[found[1]], found[2])
        before = self.revision(repository, found[3])
        files, summary = dict(repository.commits[before]), ""
        for line in filter(None, body.splitlines()):
            operation = json.loads(line)
            value = operation["value"]
            path = value.get("path")
            if operation["key"] == "header":
                summary = value["summary"]
                if value.get("parentCommit") not in (None, before):
                    raise Refusal(412, "", "A commit has happened since. Please refresh and try again.")
            elif operation["key"] == "file":
                files[path] = File(base64.b64decode(value["content"], validate=True))
            elif operation["key"] == "lfsFile":
                if value["oid"] not in LARGE:
                    raise Refusal(400, "", f"LFS pointer pointed to a file that does not exist: {path}")
                files[path] = File(LARGE[value["oid"]], large=True)
            elif operation["key"] == "deletedFile":
                files.pop(path, None)
            elif operation["key"] == "deletedFolder":
                files = {name: file for name, file in files.items() if not name.startswith(path)}
        as_request = "create_pr" in query
        commit = repository.write(None if as_request else found[3], files)
        place = f"{found[1]}/{found[2]}" if found[1] != "models" else found[2]
        answer = {"success": True, "commitOid": commit, "commitMessage": summary, "hookOutput": ""}
        answer["commitUrl"] = self.url(f"{place}/commit/{commit}")
        if as_request:
            repository.requests += 1
            answer["prNum"] = repository.requests
            answer["prUrl"] = self.url(f"{place}/discussions/{repository.requests}")
        return 200, answer, {}

    def large_files(self, found, body, *_):
        objects = []
        for wish in json.loads(body)["objects"]:
            entry = {"oid": wish["oid"], "size": wish["size"]}
            if wish["oid"] not in LARGE:
                entry["actions"] = self.actions(**entry)
            objects.append(entry)
        return 200, {"transfer": "basic", "objects": objects}, {}

    def actions(self, oid, size):
        verify = {"href": self.storage_url(f"verify/{oid}"), "header": {}}
        piece = behaviour().get("piece")
        if not piece or size <= piece:
            return {"upload": {"href": self.storage_url(f"large/{oid}"), "header": {}}, "verify": verify}
        count = -(-size // piece)
        header = {str(n + 1): self.storage_url(f"large/{oid}/{n}") for n in range(count)}
        header["chunk_size"] = str(piece)
        return {"upload": {"href": self.storage_url(f"complete/{oid}"), "header": header}, "verify": verify}

    def put(self, found, body, query, lie):
        oid, number = found[1], found[2]
        content = b"lie" + body[3:] if lie else body
        if number is not None:
            PIECES.setdefault(oid, {})[int(number)] = content
        elif hashlib.sha256(content).hexdigest() != oid:
            raise Refusal(400, "", "the content does not have its hash")
        else:
            LARGE[oid] = content
        return 200, b"", {"ETag": f'"{hashlib.md5(content).hexdigest()}"'}

    def complete(self, found, body, *_):
        pieces = PIECES.pop(found[1], {})
        wish = json.loads(body)["parts"]
        etags = [f'"{hashlib.md5(pieces[n]).hexdigest()}"' for n in sorted(pieces)]
        content = b"".join(pieces[n] for n in sorted(pieces))
        if [part["etag"] for part in wish] != etags or hashlib.sha256(content).hexdigest() != found[1]:
            raise Refusal(400, "", "the pieces do not make the file")
        LARGE[found[1]] = content
        return 200, {}, {}

    def verify(self, found, *_):
        if found[1] not in LARGE:
            raise Refusal(404, "", "there is no such object")
        return 200, {}, {}

    def file(self, found, body, query, lie):
        repository = self.repository(KINDS.get(found[1] or "", "model"), found[2])
        commit = self.revision(repository, found[3])
        file = repository.commits[commit].get(found[4])
        if file is None:
            raise Refusal(404, "EntryNotFound", "Entry not found")
        content = bytes(byte ^ 1 for byte in file.content) if lie else file.content
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.oid or file.blob}"', "Accept-Ranges": "bytes"}
        headers["Content-Type"] = "application/octet-stream"
        if file.oid:
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(content))}
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not span:
            return 200, content, headers
        first, last = int(span[1]), min(int(span[2] or len(content) - 1), len(content) - 1)
        if first > last:
            return 416, b"", {"Content-Range": f"bytes */{len(content)}"}
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return 206, content[first : last + 1], headers


API = r"/api/(kernels|models|datasets|spaces)/([^/]+/[^/]+)"
ROUTES = [
    (r"/api/organizations/([^/]+)/overview", Handler.organisation),
    (r"/api/whoami-v2", Handler.who_am_i),
    (r"/api/repos/create", Handler.create),
    (API + r"(?:/revision/(.+))?", Handler.info),
    (API + r"/refs", Handler.refs),
    (API + r"/tag/(.+)", Handler.tag),
    (API + r"/tree/([^/]+)(/.*)?", Handler.tree),
    (API + r"/branch/(.+)", Handler.branch),
    (API + r"/preupload/(.+)", Handler.preupload),
    (API + r"/commit/(.+)", Handler.commit),
    (r"/(?:kernels/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", Handler.large_files),
    (r"/large/([0-9a-f]{64})(?:/(\d+))?", Handler.put),
    (r"/complete/([0-9a-f]{64})", Handler.complete),
    (r"/verify/([0-9a-f]{64})", Handler.verify),
    (r"(?:/(kernels|datasets|spaces))?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", Handler.file),
]

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
