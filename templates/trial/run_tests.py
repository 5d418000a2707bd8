"""Runs the tests of a kernel with one of its builds, through the real client, and exits as pytest does; with 5 if every
test was skipped.

run_tests.py KERNEL VARIANT PACKAGE REPO [PYTEST_ARGUMENT...]
KERNEL is the kernel's folder, VARIANT that of the build, REPO the kernel's name on the Hub, or empty.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest


class Outcome:
    """Counts tests that ran, and those that were skipped."""

    def __init__(self):
        self.ran = self.skipped = 0

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "kernels_ci: tests that a build must pass")

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            self.skipped += 1
        elif report.when == "call" or report.failed:
            self.ran += 1


def names_a_test(argument):
    return not argument.startswith("-") and os.path.exists(argument.split("::")[0])


def main(kernel, variant, package, repo, arguments):
    with tempfile.TemporaryDirectory() as work:
        # As in the kernel's folder, with this build alone: tests find it beside them, by LOCAL_KERNELS, or as a module.
        shutil.copytree(Path(kernel) / "tests", Path(work) / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        os.mkdir(Path(work) / "build")
        os.symlink(variant, Path(work) / "build" / Path(variant).name)
        os.symlink(variant, Path(work) / package)
        if repo:
            os.environ["LOCAL_KERNELS"] = f"{repo}={work}/build"
        os.chdir(work)
        sys.path.insert(0, work)
        sys.dont_write_bytecode = True
        if not any(map(names_a_test, arguments)):
            arguments = ["tests", *arguments]
        outcome = Outcome()
        status = pytest.main(["-p", "no:cacheprovider", *arguments], plugins=[outcome])
        os.chdir(kernel)
    if status == 0 and outcome.skipped and not outcome.ran:
        print("every test was skipped: this machine cannot run the build", file=sys.stderr)
        return 5
    return int(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5], sys.argv[5:]))
