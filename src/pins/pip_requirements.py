"""Prints which requirements of some wheels apply, as JSON. Reads their syntax, markers and extras
as pip does."""

import json
import sys

from pip._vendor.packaging.requirements import Requirement

question = json.loads(sys.argv[1])


def applying(wheel):
    # A requirement with a marker may belong to any of the extras.
    environments = [{**question["environment"], "extra": extra} for extra in ["", *wheel["extras"]]]
    for text in wheel["requires"]:
        requirement = Requirement(text)
        if requirement.marker is None or any(map(requirement.marker.evaluate, environments)):
            yield {
                "name": requirement.name,
                "extras": sorted(requirement.extras),
                "specifiers": str(requirement.specifier),
            }


print(json.dumps([list(applying(wheel)) for wheel in question["wheels"]]))
