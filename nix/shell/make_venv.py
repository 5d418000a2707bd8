"""Makes a virtual environment of the Python that a shell's environment is made of: make_venv.py
DIR."""

import sys
import venv

# NB: not of the environment itself, which would be looked for in the wrong place. pip comes from
# the environment.
sys.executable = sys._base_executable
venv.create(sys.argv[1], symlinks=True)
