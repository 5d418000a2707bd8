"""Builds the kernel with CMake: `pip install --no-build-isolation -e .` for work on it, `python setup.py build_kernel`
for build/<variant>, `pip wheel --no-build-isolation .` for a wheel."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "cmake"))

from environment import environment  # noqa: E402
from package import read_facts, write_package  # noqa: E402

FACTS = read_facts()
NATIVE = FACTS["framework"] != "torch-noarch"
# The folder that `pip install -e` puts on Python's path.
EDITABLE = Path("build/cmake/python")


# CMake and Ninja of the Python that runs this, then those of the machine.
SEARCH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def cmake(*arguments):
    program = shutil.which("cmake", path=SEARCH)
    if not program:
        sys.exit("error: there is no CMake: `pip install cmake ninja`")
    subprocess.run([program, *arguments], check=True, env={**os.environ, "PATH": SEARCH})


def build(target, build_type="Release"):
    """Configures and builds a target of CMakeLists.txt; the folder of the build."""
    folder = ROOT / "build/cmake/tree"
    configure = [f"-DPython3_EXECUTABLE={sys.executable}", f"-DCMAKE_BUILD_TYPE={build_type}"]
    if "CMAKE_GENERATOR" not in os.environ:
        configure += ["-G", "Ninja"]
    if os.environ.get("NVCC_THREADS"):
        configure.append(f"-DCMAKE_CUDA_FLAGS=--threads={os.environ['NVCC_THREADS']}")
    cmake("-S", str(ROOT), "-B", str(folder), *configure, *shlex.split(os.environ.get("CMAKE_ARGS", "")))
    jobs = [os.environ["MAX_JOBS"]] if os.environ.get("MAX_JOBS") else []
    cmake("--build", str(folder), "--target", target, "--parallel", *jobs)
    return folder


def build_python(backend, output, links=False):
    """The package of a kernel of Python alone."""
    if backend not in FACTS["backends"]:
        sys.exit(f"error: the kernel is not for {backend}, only for {', '.join(FACTS['backends'])}")
    write_package(backend, output, links=links)


class BuildKernelExtension(build_ext):
    """The whole package: Python files, the library, _ops.py and metadata.json."""

    def run(self):
        build_type = "Debug" if self.debug or os.environ.get("DEBUG") else "Release"
        package = FACTS["package"]
        if self.inplace or getattr(self, "editable_mode", False):
            if NATIVE:
                build("editable", build_type)
            else:
                build_python(environment("torch")["backend"], ROOT / EDITABLE / package, links=True)
            return
        target = Path(self.build_lib) / package
        if NATIVE:
            tree = build("local_install", build_type)
            variant = (tree / "variant.txt").read_text()
            self.copy_tree(str(ROOT / "build" / variant), str(target))
        else:
            build_python(environment("torch")["backend"], target)

    def get_outputs(self):
        return []

    def get_output_mapping(self):
        return {}


class BuildKernel(Command):
    description = "build the kernel into build/<variant>"
    user_options = [("backends=", None, "backends of a kernel of Python alone, with commas between them")]

    def initialize_options(self):
        self.backends = None

    def finalize_options(self):
        if self.backends and NATIVE:
            sys.exit("error: --backends is for kernels of Python alone; CMAKE_ARGS=-DGPU_LANG=CPU chooses the CPU")

    def run(self):
        if NATIVE:
            build("local_install")
            return
        for backend in (self.backends or ",".join(FACTS["backends"])).split(","):
            variant = FACTS["backends"].get(backend, {}).get("variant", backend)
            build_python(backend, ROOT / "build" / variant)


setup(
    packages=[],
    py_modules=[],
    package_dir={"": str(EDITABLE)},
    # An extension, so that setuptools builds a wheel for this platform.
    ext_modules=[Extension(FACTS["package"], sources=[])],
    cmdclass={"build_ext": BuildKernelExtension, "build_kernel": BuildKernel},
    # The library uses the stable ABI of Python 3.
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
