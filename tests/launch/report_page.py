"""Reads a page that segue writes, and checks that it is well formed and needs nothing else."""

import html.parser
import re
import xml.etree.ElementTree as xml

from program import check

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Reader(html.parser.HTMLParser):
    """Checks that elements nest, and gathers what they refer to."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.text, self.refresh = [], set(), set(), "", None
        self.tags = {}

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        attributes = dict(attributes)
        check(not any(name.startswith("on") for name in attributes), f"<{tag}> has a handler: {attributes}")
        check("src" not in attributes, f"<{tag}> loads something")
        if "id" in attributes:
            check(attributes["id"] not in self.ids, f"two elements are called {attributes['id']}")
            self.ids.add(attributes["id"])
        if "href" in attributes:
            self.links.add(attributes["href"])
        if attributes.get("http-equiv") == "refresh":
            self.refresh = attributes["content"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        self.open.pop()

    def handle_data(self, data):
        self.text += data


def read_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Reader()
    page.feed(text)
    page.close()
    check(not page.open, f"{path}: never closed: {page.open}")
    check("script" not in page.tags, f"{path}: has a script")
    check(all(link[0] == "#" and link[1:] in page.ids for link in page.links), f"{path}: links to {page.links}")
    check("url(" not in text and "@import" not in text and "://" not in text, f"{path}: refers to something outside")
    drawings = re.findall(r"<svg.*?</svg>", text, re.S)
    for drawing in drawings:
        check_drawing(drawing, path)
    return page, text, drawings


def check_drawing(text, where):
    numbers = re.findall(r'(?:x|y|cx|cy|width|height|d|viewBox)="([^"]*)"', text)
    check(not any("nan" in number or "inf" in number for number in numbers), f"{where}: a coordinate is no number")
    return xml.fromstring(text)
