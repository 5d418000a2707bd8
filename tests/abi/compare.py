"""Prints verdicts of auditwheel and abi3audit on libraries below some folders, as JSON: for each
file whether it keeps manylinux_2_28, and whether an .abi3 file keeps the limited API of Python 3.9.

compare.py FOLDER...
"""

import contextlib
import json
import logging
import sys
import tempfile
import zipfile
from pathlib import Path

import abi3audit._audit as audit
import abi3audit._extract as extract
from abi3info.models import PyVersion
from auditwheel.architecture import Architecture
from auditwheel.error import NonPlatformWheelError
from auditwheel.libc import Libc
from auditwheel.policy import WheelPolicies
from auditwheel.wheel_abi import analyze_wheel_abi

POLICIES = WheelPolicies(libc=Libc.GLIBC, arch=Architecture.x86_64)

# Libraries that are there when a kernel is loaded.
THERE = frozenset({"libcuda.so.1", "libcudart.so.13", "libnvrtc.so.13"})


def keeps_manylinux(library, folder):
    """Whether a wheel with a library alone keeps the policy, by auditwheel."""
    wheel = folder / "one-1.0-cp39-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(library, "one/" + library.name)
        archive.writestr("one-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        archive.writestr("one-1.0.dist-info/RECORD", f"one/{library.name},,\n")
    there = THERE if "cu130" in str(library) else frozenset()
    options = {"disable_isa_ext_check": True, "allow_graft": False}
    found = analyze_wheel_abi(Libc.GLIBC, Architecture.x86_64, wheel, there, **options)
    return not found.overall_policy < POLICIES.get_policy_by_name("manylinux_2_28_x86_64")


def keeps_limited_api(library):
    """Whether an .abi3 file keeps the limited API, by abi3audit."""
    (file,) = extract.SharedObjectExtractor(extract.SharedObjectSpec(library))
    return bool(audit.audit(file, assume_minimum_abi3=PyVersion(3, 9)))


def main():
    logging.disable()
    verdicts = {}
    for library in sorted(file for folder in sys.argv[1:] for file in Path(folder).rglob("*.so")):
        verdicts[str(library)] = {}
        # NB: auditwheel has no opinion on a file for another processor.
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(NonPlatformWheelError):
            verdicts[str(library)]["auditwheel"] = keeps_manylinux(library, Path(folder))
        if ".abi3." in library.name:
            verdicts[str(library)]["abi3audit"] = keeps_limited_api(library)
    json.dump(verdicts, sys.stdout, indent=1)


main()
