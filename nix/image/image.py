"""Makes the parts of an OCI image (image-spec 1.0): the files of Debian packages, layers, and the
folder that holds them. The same input gives the same bytes: names are sorted, all times are 1, and
owners are numbers. It needs the standard library alone.

Usage:
    image.py unpack PACKAGES ROOT         packages, each a folder with control.tar and data.tar
    image.py restore LAYER ROOT           a layer as files
    image.py layer OUT COMMENT TREE...    a layer; TREE is PATH:NAME, NAME the place in the image
    image.py registration ATTRIBUTES      store paths as text for `nix-store --load-db`
    image.py layout OUT ATTRIBUTES        an image layout
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

# Folders that Debian has merged into /usr, though its packages still name them.
MERGED = {"bin", "lib", "lib32", "lib64", "libx32", "sbin"}
# Files that Debian's own images leave out, too: documents in many languages. Licences stay, and
# apt's list of Debian's archives.
LEFT_OUT = re.compile("usr/share/(doc-base|info|lintian|locale|man)/.")
DOCUMENT = re.compile("usr/share/doc/.*")
KEPT_DOCUMENT = re.compile("usr/share/doc/([^/]*|[^/]*/copyright|apt(/examples(/sources[.]list)?)?)")
# The file beside a root with modes and owners that its files cannot have where they are built.
ATTRIBUTES = ".attributes.json"
TYPES = "application/vnd.oci.image."


def place_in_usr(name):
    """The path of a package's file in the root, without a leading slash; empty for the root."""
    name = name.removeprefix("./").strip("/")
    return f"usr/{name}" if name.split("/")[0] in MERGED else name.removeprefix(".")


def is_left_out(name):
    if DOCUMENT.fullmatch(name):
        return not KEPT_DOCUMENT.fullmatch(name)
    return LEFT_OUT.match(name) is not None


def extract(archive, root, attributes, place):
    """Writes the members of an archive to files. Adds the modes and owners that they lack."""
    with tarfile.open(archive) as members:
        for member in members:
            name = place(member.name)
            path = root / name
            if not name or is_left_out(name):
                continue
            if member.isdir():
                path.mkdir(exist_ok=True)
            elif member.issym():
                path.symlink_to(member.linkname)
            elif member.islnk():
                path.hardlink_to(root / place(member.linkname))
            elif member.isfile():
                with open(path, "wb") as file:
                    shutil.copyfileobj(members.extractfile(member), file)
            else:
                sys.exit(f"error: {archive}: {name} is a device")
            if not member.issym():
                # NB: Nix's sandbox refuses modes that change the user of a program.
                path.chmod(member.mode & 0o777)
            if member.mode & 0o7000 or member.uid or member.gid:
                attributes[name] = [member.mode, member.uid, member.gid]


def record(package, database):
    """Writes the files that dpkg keeps of a package; returns its name and its entry in `status`."""
    with tarfile.open(package / "control.tar") as members:
        files = {
            member.name.removeprefix("./"): members.extractfile(member).read() for member in members if member.isfile()
        }
    control = files.pop("control").decode().strip()
    fields = dict(re.findall("^([^ :]+): (.*)", control, re.MULTILINE))
    name = fields["Package"]
    # Packages that may be there for several architectures have files for each.
    stem = f"{name}:{fields['Architecture']}" if fields.get("Multi-Arch") == "same" else name
    with tarfile.open(package / "data.tar") as members:
        paths = [member.name.removeprefix(".").rstrip("/") or "/." for member in members]
        files["list"] = "".join(f"{path}\n" for path in paths).encode()
        hashes = {
            line: hashlib.md5(members.extractfile(f".{line}").read()).hexdigest()
            for line in files.get("conffiles", b"").decode().split("\n")
            if line in paths
        }
    for file, content in files.items():
        path = database / "info" / f"{stem}.{file}"
        path.write_bytes(content)
        is_script = file in ("preinst", "postinst", "prerm", "postrm", "config")
        path.chmod(0o755 if is_script else 0o644)
    add_interests(name, files.get("triggers", b"").decode(), database / "triggers")
    entry = control.replace(f"Package: {name}\n", f"Package: {name}\nStatus: install ok installed\n", 1)
    if hashes:
        entry += "\nConffiles:" + "".join(f"\n {file} {digest}" for file, digest in hashes.items())
    return name, entry


def add_interests(name, triggers, folder):
    """Adds a package to the files of the triggers that it waits for. Paths share one file."""
    for directive, trigger in re.findall(r"^(interest\S*)\s+(\S+)", triggers, re.MULTILINE):
        interested = name + ("/noawait" if directive.endswith("noawait") else "")
        is_path = trigger.startswith("/")
        with open(folder / ("File" if is_path else trigger), "a") as lines:
            lines.write(f"{trigger} {interested}\n" if is_path else f"{interested}\n")


def unpack(packages, root):
    """The files of packages, and dpkg's database of them, which says that all are installed."""
    root.mkdir()
    attributes = {}
    for name in sorted(MERGED & {"bin", "lib", "lib64", "sbin"}):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    database = root / "var/lib/dpkg"
    for name in ("info", "triggers", "updates", "alternatives", "parts"):
        (database / name).mkdir(parents=True, exist_ok=True)
    entries = []
    for package in sorted(packages.iterdir()):
        extract(package / "data.tar", root, attributes, place_in_usr)
        entries.append(record(package, database))
    (database / "status").write_text("".join(f"{entry}\n\n" for _, entry in sorted(entries)))
    (database / "info/format").write_text("1\n")
    for name in ("available", "diversions", "statoverride", "triggers/Unincorp"):
        (database / name).touch()
    write_json(root / ATTRIBUTES, attributes)


def restore(layer, root):
    """The files of a layer, for programs that need them. Their owners are left out."""
    root.mkdir()
    extract(layer / "layer.tar.gz", root, {}, lambda name: name)


class Hashed:
    """A file that is written, with the hash and the size of its content."""

    def __init__(self, file):
        self.file = file
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data):
        self.sha256.update(data)
        self.size += len(data)
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def digest(self):
        return f"sha256:{self.sha256.hexdigest()}"


def files_of(trees):
    """The places in the image of files and of all that is below folders, with their paths."""
    found = {}
    for tree in trees:
        folder, _, target = tree.rpartition(":")
        if target:
            found[target] = folder
        if os.path.islink(folder) or not os.path.isdir(folder):
            continue
        for parent, folders, files in os.walk(folder):
            for name in folders + files:
                path = os.path.join(parent, name)
                relative = os.path.relpath(path, folder)
                found[os.path.join(target, relative)] = path
    return sorted(found.items(), key=lambda entry: entry[0].split("/"))


def layer(out, comment, trees):
    """A layer of some trees. It is compressed: registries and their clients copy it as it is."""
    out.mkdir()
    attributes = {}
    for tree in trees:
        path = Path(tree.rpartition(":")[0]) / ATTRIBUTES
        if path.exists():
            attributes = json.loads(path.read_text())
    first = {}
    with open(out / "layer.tar.gz", "wb") as file:
        blob = Hashed(file)
        # NB: the header of gzip would hold a name and a time.
        with gzip.GzipFile("", "wb", 6, blob, mtime=0) as compressed:
            content = Hashed(compressed)
            with tarfile.open(fileobj=content, mode="w|", format=tarfile.PAX_FORMAT) as members:
                for name, path in files_of(trees):
                    if name == ATTRIBUTES:
                        continue
                    add(members, name, path, attributes.get(name), first)
    description = {"digest": blob.digest(), "size": blob.size, "diffId": content.digest(), "comment": comment}
    write_json(out / "layer.json", description)


def add(members, name, path, attributes, first):
    """Adds a file. `first` has the names of files that have several."""
    status = os.lstat(path)
    mode, uid, gid = attributes or [status.st_mode & 0o1777, 0, 0]
    member = tarfile.TarInfo(name)
    member.mode, member.uid, member.gid, member.mtime = mode, uid, gid, 1
    if os.path.islink(path):
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
    elif os.path.isdir(path):
        member.type = tarfile.DIRTYPE
    else:
        key = (status.st_dev, status.st_ino)
        other = first.setdefault(key, name)
        # NB: Nix may have made one file of equal ones, on some machines.
        if status.st_nlink > 1 and other != name and not path.startswith("/nix/store/"):
            member.type, member.linkname = tarfile.LNKTYPE, other
        else:
            member.size = status.st_size
            with open(path, "rb") as file:
                members.addfile(member, file)
            return
    members.addfile(member)


def registration(attributes):
    """Prints the facts of the store paths of a closure that Nix has in its database."""
    for path in sorted(json.loads(attributes.read_text())["closure"], key=lambda path: path["path"]):
        references = sorted(path["references"])
        lines = [path["path"], path["narHash"], str(path["narSize"]), "", str(len(references)), *references]
        print("\n".join(lines))


def layout(out, attributes):
    """An image layout, from the attributes of its derivation. manifest.json, which image-spec does
    not know, is for `docker load`."""
    attributes = json.loads(attributes.read_text())
    blobs = out / "blobs/sha256"
    blobs.mkdir(parents=True)
    layers = []
    for folder in attributes["layers"]:
        description = json.loads((Path(folder) / "layer.json").read_text())
        layers.append(description)
        shutil.copyfile(Path(folder) / "layer.tar.gz", blob_path(out, description["digest"]))
    time = "1970-01-01T00:00:01Z"
    config = {
        "architecture": attributes["architecture"],
        "os": "linux",
        "created": time,
        "config": attributes["config"],
        "rootfs": {"type": "layers", "diff_ids": [layer["diffId"] for layer in layers]},
        "history": [{"created": time, "created_by": layer["comment"]} for layer in layers],
    }
    config = add_blob(out, TYPES + "config.v1+json", config)
    manifest = {
        "schemaVersion": 2,
        "mediaType": TYPES + "manifest.v1+json",
        "config": config,
        "layers": [
            {"mediaType": TYPES + "layer.v1.tar+gzip", "digest": layer["digest"], "size": layer["size"]}
            for layer in layers
        ],
    }
    reference = {"org.opencontainers.image.ref.name": attributes["tag"]}
    manifest = add_blob(out, manifest["mediaType"], manifest) | {"annotations": reference}
    index = {"schemaVersion": 2, "mediaType": TYPES + "index.v1+json", "manifests": [manifest]}
    write_json(out / "index.json", index)
    write_json(out / "oci-layout", {"imageLayoutVersion": "1.0.0"})
    archive = {
        "Config": str(blob_path(Path(), config["digest"])),
        "RepoTags": [f"{attributes['imageName']}:{attributes['tag']}"],
        "Layers": [str(blob_path(Path(), layer["digest"])) for layer in layers],
    }
    write_json(out / "manifest.json", [archive])


def blob_path(out, digest):
    return out / "blobs" / digest.replace(":", "/")


def add_blob(out, media_type, value):
    """Writes a value as a blob; returns its descriptor."""
    text = json.dumps(value, sort_keys=True).encode()
    digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
    blob_path(out, digest).write_bytes(text)
    return {"mediaType": media_type, "digest": digest, "size": len(text)}


def write_json(path, value):
    path.write_text(json.dumps(value, sort_keys=True, indent=1) + "\n")


def main():
    command, *arguments = sys.argv[1:]
    if command == "layer":
        out, comment, *trees = arguments
        layer(Path(out), comment, trees)
        return
    commands = {"unpack": unpack, "restore": restore, "registration": registration, "layout": layout}
    commands[command](*map(Path, arguments))


main()
