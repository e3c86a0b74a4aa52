"""Documents hold together: links lead somewhere, every page is reached from the README, and the page
of the routes says what their table says."""

import os
import re

from source import SKIPPED, Finding

LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
REMOTE = re.compile(r"[a-z]+:")


def pages(root):
    """{path: text}, code blanked, of every page."""
    found = {}
    for directory, names, leaves in os.walk(root):
        names[:] = [n for n in names if n not in SKIPPED | {"data"} and not n.startswith(".")]
        for leaf in leaves:
            if leaf.endswith(".md"):
                path = os.path.join(directory, leaf)
                with open(path, encoding="utf-8") as file:
                    text = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), file.read())
                found[os.path.relpath(path, root)] = text
    return found


def anchors(text):
    """As the usual renderers name headings."""
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def links(text):
    """(line, target) of every link that stays in the tree."""
    bare = CODE.sub(lambda m: " " * len(m[0]), text)
    for match in LINK.finditer(bare):
        if not REMOTE.match(match[1]):
            yield bare.count("\n", 0, match.start()) + 1, match[1]


def check_links(root):
    found = pages(root)
    reached, waiting = set(), ["README.md"]
    leads = {}
    for path, text in sorted(found.items()):
        for line, target in links(text):
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if to.startswith("..") or not os.path.exists(os.path.join(root, to)):
                yield Finding(path, line, "links", f"{target} leads nowhere")
            elif anchor and anchor not in anchors(found.get(to, "")):
                yield Finding(path, line, "links", f"{to} has no heading #{anchor}")
            leads.setdefault(path, set()).add(to)
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += sorted(leads.get(path, ()))
    for path in sorted(set(found) - reached):
        yield Finding(path, 1, "links", "no way leads here from README.md")


REST = "docs/reference/rest.md"
ROUTES = "src/api/routes.def"
ROUTE = re.compile(r'^R\((\w+),\s*"([^"]+)",\s*(\w+),\s*"([^"]*)"', re.MULTILINE)
ROW = re.compile(r"^\| `([A-Z]+) (/[^`]*)` \| (\w+) \| (?:`([^`]+)`)? ?\|", re.MULTILINE)


def check_routes(root):
    """Method, path, least role and right of every route, in the table and on the page."""
    read = {}
    for path, pattern in ((ROUTES, ROUTE), (REST, ROW)):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        read[path] = {(m[1], m[2]): (m[3].lower(), m[4] or "", text.count("\n", 0, m.start()) + 1)
                      for m in pattern.finditer(text)}
    for name, (role, right, line) in read[ROUTES].items():
        there = read[REST].get(name)
        if not there:
            yield Finding(ROUTES, line, "routes", f"{' '.join(name)} is not on {REST}")
        elif there[:2] != (role, right):
            message = f"{ROUTES} asks for {role} and {right or 'no right'}"
            yield Finding(REST, there[2], "routes", message)
    for name, (_, _, line) in read[REST].items():
        if name not in read[ROUTES]:
            yield Finding(REST, line, "routes", f"{ROUTES} has no {' '.join(name)}")
