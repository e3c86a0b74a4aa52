"""Makes a failing case small: fewer events, then a simpler query, as long as it fails the same way."""

from dataclasses import replace

import tree

TRIES_MAX = 4000


class Shrinker:
    """fails(case) -> bool: does it still fail, and is it still a case at all?"""

    def __init__(self, fails):
        self.fails = fails
        self.tries = 0

    def accepts(self, case):
        self.tries += 1
        return self.tries <= TRIES_MAX and self.fails(case)

    def shrink(self, case):
        while self.tries < TRIES_MAX:
            before = case
            case = self.fewer_events(case)
            case = self.fewer_tables(case)
            case = self.simpler_query(case)
            if case == before:
                break
        return case

    def fewer_events(self, case):
        size = len(case.events) // 2
        while size:
            start = 0
            while start < len(case.events):
                cut = without(case, start, size)
                if cut and self.accepts(cut):
                    case = cut
                else:
                    start += size
            size //= 2
        return case

    def fewer_tables(self, case):
        for table in list(case.tables):
            rest = replace(case, tables=[t for t in case.tables if t != table])
            if self.accepts(rest):
                case = rest
        for number, table in enumerate(case.tables):
            for query in simpler(table.query):
                tables = list(case.tables)
                tables[number] = replace(table, query=query)
                if self.accepts(replace(case, tables=tables)):
                    return replace(case, tables=tables)
        return case

    def simpler_query(self, case):
        found = True
        while found and self.tries < TRIES_MAX:
            found = False
            for query in simpler(case.query):
                if self.accepts(replace(case, query=query)):
                    case, found = replace(case, query=query), True
                    break
        return case


def without(case, start, count):
    """The case without some events, and without what takes back a row that is gone. The last event
    is the expectation of the answer, and stays."""
    last = case.events[-1]
    kept = [e for i, e in enumerate(case.events[:-1]) if not start <= i < start + count]
    rows = {e["id"] for e in kept if e["op"] == "row"}
    kept = [e for e in kept if e["op"] != "retract" or e["of"] in rows]
    return replace(case, events=kept + [last]) if len(kept) + 1 < len(case.events) else None


def simpler(node):
    """Every tree that is this one made simpler in one place, the boldest first."""
    yield from simpler_here(node)
    for path, child in tree.children(node):
        for smaller in simpler(child):
            yield tree.replaced(node, path, smaller)


def simpler_here(node):
    if isinstance(node, tree.With):
        yield node.query
        for i in range(len(node.ctes)):
            yield replace(node, ctes=node.ctes[:i] + node.ctes[i + 1:])
    elif isinstance(node, tree.SetOp):
        yield node.left
        yield node.right
    elif isinstance(node, tree.Select):
        yield from simpler_select(node)
    elif isinstance(node, tree.Join):
        yield node.left
        yield node.right
        if node.kind != "INNER" and node.on is not None:
            yield replace(node, kind="INNER")
    elif isinstance(node, (tree.Call, tree.Agg, tree.In, tree.Exists, tree.Scalar)):
        yield from simpler_expr(node)


def simpler_select(node):
    if isinstance(node.source, tree.Derived):
        yield node.source.query
    if len(node.items) > 1:
        for i in range(len(node.items)):
            yield replace(node, items=node.items[:i] + node.items[i + 1:])
    for part in ("where", "having"):
        if getattr(node, part) is not None:
            yield replace(node, **{part: None})
    if node.distinct:
        yield replace(node, distinct=False)
    if node.form != "LIST":
        yield replace(node, form="LIST", sets=())
    if node.form == "LIST" and node.group and len(node.group) > 1:
        for i in range(len(node.group)):
            yield replace(node, group=node.group[:i] + node.group[i + 1:])


def simpler_expr(node):
    for _, child in tree.children(node):
        if getattr(child, "kind", None) == node.kind and not isinstance(child, tree.Rel):
            yield child
    if isinstance(node, tree.Agg) and node.filter is not None:
        yield replace(node, filter=None)
    if isinstance(node, tree.Agg) and node.distinct:
        yield replace(node, distinct=False)
    if node.kind == "B" and not isinstance(node, tree.Agg):
        yield tree.Lit(True, "B")
