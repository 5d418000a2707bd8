"""Has pip choose the wheels of some packages and of their requirements, for any Python and system.

Prints them as JSON. Downloads no more than pip needs to read their requirements.
"""

import contextlib
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from pip._internal.cli.main import main
from pip._vendor.packaging import markers
from pip._vendor.packaging.utils import canonicalize_name

question = json.loads(sys.argv[1])

# NB: --python-version and --platform choose wheels only; without this, pip evaluates the conditions
# of requirements for the Python that it runs with.
markers.default_environment = lambda: dict(question["environment"])


def write_stand_in(folder, name, version):
    """Writes a wheel without files or requirements, for an installed package that is too large to
    ask an index about."""
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        info = f"{stem}.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def chosen(report, stand_ins):
    for item in report["install"]:
        url = item["download_info"]["url"]
        place = urlsplit(url)
        if place.scheme == "file" and Path(url2pathname(place.path)).is_relative_to(stand_ins):
            continue
        archive = item["download_info"]["archive_info"]
        sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").removeprefix("sha256=")
        yield {
            "name": canonicalize_name(item["metadata"]["name"]),
            "version": item["metadata"]["version"],
            "file": unquote(place.path.rsplit("/", 1)[-1]),
            "sha256": sha256,
            "url": url,
        }


with tempfile.TemporaryDirectory() as scratch:
    scratch = Path(scratch).resolve()
    stand_ins = scratch / "stand-ins"
    stand_ins.mkdir()
    constraints = [f"{name}=={version}" for name, version in question["constraints"].items()]
    for name, version in question["present"].items():
        # A version of our own, which no index has.
        own = version + ("." if "+" in version else "+") + "kernel.builder"
        write_stand_in(stand_ins, name, own)
        constraints.append(f"{name}=={own}")
    (scratch / "constraints.txt").write_text("\n".join(constraints) + "\n")

    arguments = ["install", "--progress-bar", "off", "--disable-pip-version-check", "--no-input"]
    arguments += ["--dry-run", "--ignore-installed"]
    arguments += ["--report", str(scratch / "report.json"), "--target", str(scratch / "target")]
    arguments += ["--find-links", str(stand_ins), "--constraint", str(scratch / "constraints.txt")]
    arguments += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", question["python"]]
    arguments += ["--abi", "cp" + question["python"].replace(".", "")]
    for platform in question["platforms"]:
        arguments += ["--platform", platform]
    # NB: not --quiet, which leaves out why requirements do not fit together.
    with contextlib.redirect_stdout(sys.stderr):
        status = main([*arguments, *question["requirements"]])
    if status:
        sys.exit(status)
    report = json.loads((scratch / "report.json").read_text())
    wheels = sorted(chosen(report, stand_ins), key=lambda wheel: wheel["name"])
    print(json.dumps(wheels))
