"""C sources as the checks see them: comments and literals set apart, findings, exceptions."""

import os
import re
from dataclasses import dataclass, field

# One alternative a kind of token that may hide text which only looks like code.
_HIDING = re.compile(
    r"//(?:\\\n|[^\n])*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
_ALLOW = re.compile(r"tidy-allow\(([a-z-]+)\):\s*[^\s*]")

INCLUDE = re.compile(r'^[ \t]*(#)[ \t]*include[ \t]*([<"])([^>"\n]*)[>"]', re.MULTILINE)


@dataclass(frozen=True, order=True)
class Finding:
    path: str  # relative to the root
    line: int
    rule: str
    message: str = field(compare=False)

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One file. `code` has comments and the inside of literals blanked, `uncommented` only the
    comments; both keep every line where it was."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        self.comments = []  # (line, text)
        self.code = _HIDING.sub(self._hide_all, self.text)
        self.uncommented = _HIDING.sub(
            lambda m: _blank(m[0]) if m[0][0] == "/" else m[0], self.text
        )
        self._allowed = {}
        for line, text in self.comments:
            for match in _ALLOW.finditer(text):
                covered = line + text.count("\n") + 1 if self._alone(line) else line
                self._allowed.setdefault(match[1], set()).add(covered)

    def _hide_all(self, match):
        text = match[0]
        if text[0] == "/":
            self.comments.append((self.line_of(match.start()), text))
            return _blank(text)
        return text[0] + _blank(text[1:-1]) + text[-1]

    def exempt(self, rule):
        """True when the whole file declares itself an exception, in its first comment."""
        if not self.comments or self.comments[0][0] != 1:
            return False
        return any(match[1] == rule for match in _ALLOW.finditer(self.comments[0][1]))

    def _alone(self, line):
        return not self.code.split("\n")[line - 1].strip()

    def includes(self):
        """(line, opening character, header) of every #include."""
        for match in INCLUDE.finditer(self.uncommented):
            if self.code[match.start(1)] == "#":  # and not inside a literal
                yield self.line_of(match.start(1)), match[2], match[3]

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def allowed(self, rule, line):
        """True when `tidy-allow(rule): reason` stands beside this line, or in a comment above it."""
        return line in self._allowed.get(rule, ())


SKIPPED = {"fixtures", "node_modules", "build", "__pycache__"}


def files(root, tops, endings=(".c", ".h")):
    """Paths below root, sorted, of the given top directories."""
    found = []
    for top in tops:
        for directory, names, leaves in os.walk(os.path.join(root, top)):
            names[:] = [name for name in names if name not in SKIPPED]
            for leaf in leaves:
                if leaf.endswith(endings):
                    found.append(os.path.relpath(os.path.join(directory, leaf), root))
    return sorted(found)


def sources(root, tops, endings=(".c", ".h")):
    return [Source(root, path) for path in files(root, tops, endings)]
