"""Reads a report with Python's HTML parser and prints what it finds, as JSON."""

import json
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "input", "img", "link", "base"}
# Elements of the drawing that the page closes in the same tag.
DRAWN = {"rect", "path"}
LINKS = {"href", "src", "srcset", "action", "data", "poster", "xlink:href"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.found = {"errors": [], "ids": [], "links": [], "tags": [], "targets": []}
        self.text = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.look_at(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        if tag not in DRAWN:
            self.found["errors"].append(f"<{tag}/> is not closed by itself in HTML")
        self.look_at(tag, attributes)

    def look_at(self, tag, attributes):
        self.found["tags"].append(tag)
        for name, value in attributes:
            if name == "id":
                self.found["ids"].append(value)
            elif name in ("popovertarget", "aria-labelledby"):
                self.found["targets"].append(value)
            elif name in LINKS and value.startswith("#"):
                self.found["targets"].append(value[1:])
            elif name in LINKS:
                self.found["links"].append(value)
            elif name.startswith("on"):
                self.found["errors"].append(f"{tag} has {name}")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.found["errors"].append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            # A style may name files, too.
            for word in ("url(", "@import"):
                if word in data:
                    self.found["links"].append(word)
        else:
            self.text.append(data)


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
page.close()
page.found["errors"] += [f"<{tag}> is never closed" for tag in page.open]
page.found["text"] = "".join(page.text)
json.dump(page.found, sys.stdout)
