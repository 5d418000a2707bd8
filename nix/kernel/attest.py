"""Writes the origin of each variant of a bundle: the revision of the kernel's source into its
metadata.json, a statement about the inputs of its build, and a list of its toolchains' packages.

Called by bundle.sh with the folder of the variants and the attributes of its derivation, which Nix
writes to .attrs.json. It needs the standard library alone, and Python 3.9. src/build/attest.rs
writes the same bytes into the copies that `kernel-builder build` makes; tests/provenance.rs
compares the two.
"""

import base64
import hashlib
import json
import os
import re
import sys

METADATA, STATEMENT, SBOM = "metadata.json", "provenance.intoto.json", "sbom.cdx.json"
# The digits of Nix's hashes.
NIX_DIGITS = "0123456789abcdfghijklmnpqrsvwxyz"
# The start of a derivation: its output, with the hash of a fixed one, and the derivations that it
# needs.
DERIVATION = re.compile(r'Derive\(\[\("out","([^"]*)","([^"]*)","([^"]*)"\)\],\[(.*?)\],\[', re.DOTALL)
# The types of package URLs by kind of archive; "generic" for others.
PACKAGE_TYPES = {"deb": "deb/debian", "rpm": "rpm", "wheel": "pypi", "sdist": "pypi"}


def text_of(value):
    """A JSON text, with its keys in order."""
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def digest(content):
    """The base64 of the sha256 of bytes."""
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def hash_and_name(path):
    """The hash of a store path in hexadecimal, and its name.

    NB: Nix takes a hash in its own digits for a reference to the path, and the variant would need
    every step of its build on the machine that has it.
    """
    nix_hash, name = os.path.basename(path).split("-", 1)
    number = 0
    for digit in nix_hash:
        number = number * len(NIX_DIGITS) + NIX_DIGITS.index(digit)
    return number.to_bytes(20, "little").hex(), name


class Derivations:
    """The derivations of the store, each read once."""

    def __init__(self):
        self.known = {}

    def read(self, path):
        """The output of a derivation, the hash of that output if it is fixed, and the derivations
        that it needs."""
        if path not in self.known:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                start = DERIVATION.match(file.read())
            if start is None:
                sys.exit(f"error: {path} is no derivation with one output")
            output, _, fixed, needs = start.groups()
            self.known[path] = output, fixed, re.findall(r'\("([^"]*)"', needs)
        return self.known[path]

    def closure(self, root):
        """The derivations that one needs, itself among them, in order, and the names of fixed
        outputs by their hash."""
        steps, pins, seen, todo = [], {}, {root}, [root]
        while todo:
            path = todo.pop()
            output, fixed, needs = self.read(path)
            if fixed:
                pins[fixed] = hash_and_name(output)[1]
                continue
            steps.append(path)
            todo += [need for need in needs if need not in seen]
            seen.update(needs)
        return sorted(steps), pins


def pins_and_packages(families, archives, used):
    """The inputs that are pins, for the statement, and the archives that these are or are made of.

    `families` are files of nix/pins by name, and `archives` are those of headers that build.toml
    describes. Pins that no step needs are left out: `used` has the others.
    """
    inputs, packages = set(), []
    for name, path in families.items():
        with open(path, encoding="utf-8") as file:
            family = json.load(file)
        for pin in family["archives"]:
            if pin["sha256"] in used:
                inputs.add((name, used[pin["sha256"]], pin["sha256"], False))
                packages.append(pin)
        for tree in family["trees"]:
            if tree["sha256"] in used:
                inputs.add((name, used[tree["sha256"]], tree["sha256"], True))
                packages += [source["archive"] for source in tree["sources"]]
    for name, archive in archives.items():
        if archive["sha256"] in used:
            inputs.add((name, used[archive["sha256"]], archive["sha256"], False))
            packages.append({**archive, "kind": "file", "name": name, "version": ""})
    return sorted(inputs), packages


def component(package):
    """The component of a CycloneDX document for an archive."""
    name, version = package["name"], package["version"]
    url = f"pkg:{PACKAGE_TYPES.get(package['kind'], 'generic')}/{escape(name)}"
    written = {
        "type": "file",
        "name": name,
        "bom-ref": package["sha256"],
        "purl": f"{url}@{escape(version)}" if version else url,
        "properties": [{"name": "kernel-builder:file", "value": package["file"]}],
    }
    if version:
        written["version"] = version
    # NB: the hash of such a tarball is that of its members.
    if package["kind"] != "tarball":
        written["hashes"] = [{"alg": "SHA-256", "content": package["sha256"]}]
    return written


def escape(text):
    """A text without the characters that a package URL must not have as they are."""
    for character in "%+:@":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def sbom(kernel, variant, version, packages):
    """The document of the packages of a variant's toolchains, each once."""
    unique = {(package["name"], package["sha256"]): package for package in packages}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "name": kernel, "version": variant, "bom-ref": variant},
            "tools": {"components": [{"type": "application", "name": "kernel-builder", "version": version}]},
        },
        "components": [component(unique[key]) for key in sorted(unique)],
    }


def statement(parameters, plan, version, dependencies, files):
    """The in-toto statement about the files of a variant, by their digests."""
    subject = [{"name": path, "digest": {"sha256": base64.b64decode(own).hex()}} for path, own in sorted(files.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:kernel-builder:variant:1",
                "externalParameters": parameters,
                "internalParameters": {"plan": plan},
                "resolvedDependencies": dependencies,
            },
            "runDetails": {
                "builder": {"id": "urn:kernel-builder", "version": {"kernel-builder": version}},
            },
        },
    }


def sources_of(lists):
    """The hashes of the kernel's files by path, from texts in sha256sum's form."""
    hashes = {}
    for path in lists:
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                content, source = line.split("  ", 1)
                hashes[source] = content
    return hashes


def attest(folder, variant, derivations, kernel, version, revision):
    """Writes the three files of one variant."""
    plan = variant["plan"]
    with open(os.path.join(folder, METADATA), encoding="utf-8") as file:
        metadata = json.load(file)
    steps, used = derivations.closure(variant["derivation"])
    pins, packages = pins_and_packages(variant["families"], variant["archives"], used)
    dependencies = [
        {"name": f"source:{path}", "digest": {"sha256": own}}
        for path, own in sorted(sources_of(variant["sources"]).items())
    ]
    dependencies += [
        {"name": f"pin:{family}:{name}", "digest": {"nixArchiveSha256" if is_tree else "sha256": own}}
        for family, name, own, is_tree in pins
    ]
    for path in steps:
        own, name = hash_and_name(path)
        dependencies.append({"name": f"derivation:{name[: -len('.drv')]}", "digest": {"nixDerivation": own}})
    parameters = {"kernel": kernel, "variant": plan["variant"]}
    if revision is not None:
        parameters["revision"] = revision
        metadata["provenance"]["kernel"] = revision
    files = metadata["digest"]["files"]

    def write(name, value):
        content = text_of(value)
        files[name] = digest(content)
        with open(os.path.join(folder, name), "xb") as file:
            file.write(content)

    write(SBOM, sbom(kernel, plan["variant"], version, packages))
    write(STATEMENT, statement(parameters, plan, version, dependencies, files))
    with open(os.path.join(folder, METADATA), "wb") as file:
        file.write(text_of(metadata))


def main():
    folder, attributes = sys.argv[1:]
    with open(attributes, encoding="utf-8") as file:
        given = json.load(file)
    derivations = Derivations()
    for variant in given["inputs"]:
        place = os.path.join(folder, variant["plan"]["variant"])
        attest(place, variant, derivations, given["kernel"], given["version"], given["revision"])


main()
