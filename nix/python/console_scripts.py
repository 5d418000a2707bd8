"""Prints the programs of all installed packages: name, module, function. For environment.sh."""

from importlib.metadata import entry_points

for script in sorted(entry_points(group="console_scripts"), key=lambda script: script.name):
    print(script.name, script.module, script.attr)
