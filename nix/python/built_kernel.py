"""Finds the built kernel of a shell as a module: KERNEL_BUILDER_MODULE is `<name>=<folder>`.

It is the last place where Python looks, so a kernel that pip has installed comes first.
"""

import os
import sys
from importlib.util import spec_from_file_location

NAME, _, FOLDER = os.environ["KERNEL_BUILDER_MODULE"].partition("=")


class BuiltKernelFinder:
    @staticmethod
    def find_spec(name, _path=None, _target=None):
        init = os.path.join(FOLDER, "__init__.py")
        if name != NAME or not os.path.exists(init):
            return None
        return spec_from_file_location(name, init, submodule_search_locations=[FOLDER])


sys.meta_path.append(BuiltKernelFinder)
