"""Queries as trees of frozen dataclasses: what the generator builds, the printers print and the
shrinker takes apart.

A kind is 'L' (Long), 'D' (Double), 'S' (String), 'B' (Bool) or 'T' (Timestamp). A size (grain,
bits) says of a number that it is a multiple of 2**-grain and below 2**bits; None says nothing is
known. Sums are asked for only where the size makes them exact in 128 bits.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Optional

KINDS = {"L": "Long", "D": "Double", "S": "String", "B": "Bool", "T": "Timestamp"}


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    size: Optional[tuple] = None


# ---- expressions: each has kind and size ----

@dataclass(frozen=True)
class Col:
    alias: str
    name: str
    kind: str
    size: Optional[tuple] = None


@dataclass(frozen=True)
class Lit:
    value: Any
    kind: str
    size: Optional[tuple] = None


@dataclass(frozen=True)
class Call:
    op: str  # a name in ops.OPS
    args: tuple
    kind: str
    size: Optional[tuple] = None


@dataclass(frozen=True)
class Agg:
    name: str
    arg: Any  # None: COUNT(*)
    kind: str
    distinct: bool = False
    filter: Any = None
    share: Optional[float] = None  # PERCENTILE_CONT
    size: Optional[tuple] = None


@dataclass(frozen=True)
class In:
    left: tuple  # several: a row value
    query: Any
    negated: bool
    kind: str = "B"
    size: Optional[tuple] = None


@dataclass(frozen=True)
class Exists:
    query: Any
    negated: bool
    kind: str = "B"
    size: Optional[tuple] = None


@dataclass(frozen=True)
class Scalar:
    query: Any
    kind: str
    size: Optional[tuple] = None


# ---- what stands in FROM ----

@dataclass(frozen=True)
class Rel:
    name: str
    alias: str
    columns: tuple
    source: bool = False  # a source, not a table or a query of WITH
    dated: bool = False   # its rows keep the _ts of one source row


@dataclass(frozen=True)
class Derived:
    query: Any
    alias: str


@dataclass(frozen=True)
class Join:
    kind: str  # INNER LEFT RIGHT FULL CROSS
    left: Any
    right: Any
    on: Any = None
    using: tuple = ()


# ---- queries ----

@dataclass(frozen=True)
class Item:
    expr: Any
    name: str


@dataclass(frozen=True)
class Select:
    items: tuple
    source: Any
    where: Any = None
    group: Optional[tuple] = None  # None: not grouped
    form: str = "LIST"             # LIST ROLLUP CUBE SETS
    sets: tuple = ()               # SETS: tuples of places in group
    having: Any = None
    distinct: bool = False
    latest: Optional[tuple] = None


@dataclass(frozen=True)
class SetOp:
    op: str  # UNION, EXCEPT, INTERSECT, each also with ALL
    left: Any
    right: Any


@dataclass(frozen=True)
class With:
    ctes: tuple  # Cte
    query: Any


@dataclass(frozen=True)
class Cte:
    name: str
    query: Any


NODES = (Col, Lit, Call, Agg, In, Exists, Scalar, Rel, Derived, Join, Item, Select, SetOp, With, Cte)


def columns_of(query):
    """The columns a query gives."""
    if isinstance(query, With):
        return columns_of(query.query)
    if isinstance(query, SetOp):
        left, right = columns_of(query.left), columns_of(query.right)
        return tuple(Column(a.name, unify(a.kind, b.kind), join_sizes(a.size, b.size))
                     for a, b in zip(left, right))
    return tuple(Column(i.name, i.expr.kind, i.expr.size) for i in query.items)


def unify(a, b):
    return a if a == b else "D"


def join_sizes(*sizes):
    """Of a value that is any of these."""
    if any(size is None for size in sizes):
        return None
    return max(g for g, _ in sizes), max(b for _, b in sizes)


def is_dated(query):
    """Is each row of the query one row of a source, so that it keeps its _ts?"""
    if isinstance(query, With):
        return is_dated(query.query)
    if isinstance(query, SetOp) or query.group is not None or query.distinct:
        return False
    if any(isinstance(node, Agg) for item in query.items for node in walk_expr(item.expr)):
        return False
    return isinstance(query.source, (Rel, Derived)) and from_dated(query.source)


def from_dated(source):
    if isinstance(source, Rel):
        return source.dated
    return isinstance(source, Derived) and is_dated(source.query)


# ---- walking and replacing ----

def children(node):
    """(path, child) of each node right below; a path is (field, place or None)."""
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if isinstance(value, NODES):
            yield (f.name, None), value
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                if isinstance(item, NODES):
                    yield (f.name, i), item


def replaced(node, path, child):
    name, place = path
    if place is None:
        return dataclasses.replace(node, **{name: child})
    items = list(getattr(node, name))
    items[place] = child
    return dataclasses.replace(node, **{name: tuple(items)})


def walk(node):
    yield node
    for _, child in children(node):
        yield from walk(child)


def walk_expr(expr):
    """An expression's nodes, without those of its subqueries."""
    yield expr
    if isinstance(expr, (Exists, Scalar)):
        return
    for (name, _), child in children(expr):
        if name != "query":
            yield from walk_expr(child)
