"""Random cases: sources, their histories, tables that read them, and a query.

Values come from small sets, so that keys meet, groups empty and ties happen; the sets hold the
values that go wrong: NULL, 0 and -0.0, the ends of the ranges, texts of one and of many bytes.
"""

import random
from dataclasses import dataclass, field

import ops
from tree import (Agg, Call, Col, Column, Cte, Derived, Exists, In, Item, Join, Lit, Rel, Scalar,
                  Select, SetOp, With, columns_of, is_dated)

# ---- values: (name, size, values) ----

LONGS = (
    ("small", (0, 3), (-2, -1, 0, 0, 1, 1, 2, 3)),
    ("medium", (0, 17), (0, 1, 7, 99, -1000, 100000, 65536)),
    ("extreme", (0, 63), (0, 1, -1, 2 ** 63 - 1, -2 ** 63, 2 ** 53 + 1, 2 ** 62, -2 ** 62, 10)),
)
DOUBLES = (
    ("small", (3, 5), (0.0, -0.0, 0.5, -0.5, 1.0, 2.0, 2.5, 0.125, -3.75)),
    ("price", (3, 27), (100000000.0, 100000000.5, 100000001.0, 99999999.875, 100000000.125)),
    ("wide", (3, 61), (0.5, 1.0, 1e15 + 0.5, -1e15, 2.0 ** 60, -(2.0 ** 60), 9007199254740993.0, 0.125)),
    ("extreme", None, (0.1, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 1e-300, 0.3,
                       9.223372036854775807e18, 2.0 ** 53, -0.0, 1.0)),
)
STRINGS = (
    ("short", ("", "a", "b", "ab", "A", "a b", "1", "0", " 7 ", "true")),
    ("long", ("prefix_of_one_length_x1", "prefix_of_one_length_x2", "prefix_of_on", "prefix_of_one",
              "PREFIX_OF_ONE_LENGTH_X1", "b" * 40)),
    ("odd", ("é", "e\u0301", "Ω", "😀", "😀a", "\u0000", "a\u0000b", "\ufffd", "\U0010fffd", "日本語", "'",
             "\"\\", "\n", "%", "\u200b")),
)
TIMES = (0, 1, -1, 1704067200000, 1704067200001, 1704070800000, -86400000, 1709164800000)

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "VAR_SAMP", "VARIANCE", "VAR_POP", "STDDEV_SAMP", "STDDEV",
              "STDDEV_POP", "MEDIAN", "PERCENTILE_CONT", "BOOL_AND", "BOOL_OR")
SPREAD = ("VAR_SAMP", "VARIANCE", "VAR_POP", "STDDEV_SAMP", "STDDEV", "STDDEV_POP")


@dataclass
class Source:
    name: str
    columns: tuple
    values: dict  # column -> the values it takes
    log: bool     # rows are only added; else some are taken back
    frees: bool = False  # some rows carry _retract: only LATEST BY may read it


@dataclass
class Table:
    name: str
    query: object


@dataclass
class Case:
    id: str
    sources: list
    tables: list
    query: object
    events: list = field(default_factory=list)


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    # ---- choices ----

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return items[self.random.randrange(len(items))]

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    # ---- sources and histories ----

    def source(self, name):
        columns, values = [], {}
        for i in range(self.random.randint(2, 5)):
            column, set_of_values = self.column(f"c{i}")
            columns.append(column)
            nulls = self.pick((0, 1, 1, 4))
            values[column.name] = list(set_of_values) + [None] * nulls
        log = self.chance(0.45)
        return Source(name, tuple(columns), values, log, log and self.chance(0.15))

    def column(self, name):
        kind = self.pick("LLLDDSSBT")
        if kind == "L":
            _, size, values = self.pick(LONGS)
            return Column(name, kind, size), values
        if kind == "D":
            _, size, values = self.pick(DOUBLES)
            return Column(name, kind, size), values
        if kind == "S":
            return Column(name, kind), self.pick(STRINGS)[1]
        return Column(name, kind), (True, False) if kind == "B" else TIMES

    def history(self, sources, length):
        """Events in order, with expectations at some moments; of: the row that a retraction takes."""
        events, live = [], []
        clock = 1000
        for number in range(length):
            takes = [row for row in live if not row["log"]]
            if takes and self.chance(0.35):
                row = self.pick(takes)
                live.remove(row)
                events.append({"op": "retract", "of": row["id"], "source": row["source"]})
            else:
                source = self.pick(sources)
                again = [row for row in live if row["source"] == source.name]
                clock += self.pick((1, 1, 10, 1000))
                row = {name: self.pick(values) for name, values in source.values.items()}
                if again and self.chance(0.2):
                    row = self.pick(again)["row"]
                late = self.pick((0, 0, 0, 5, 500, 5000)) if self.chance(0.5) else 0
                ts = clock - late if source.log else clock * 10000 - late * 10000 + number
                if source.log and again and self.chance(0.2):
                    ts = self.pick(again)["ts"]
                event = {"op": "row", "id": number, "source": source.name, "row": row, "ts": ts}
                if source.frees and self.chance(0.25):
                    event["frees"] = True
                events.append(event)
                live.append({"id": number, "source": source.name, "row": row, "ts": ts, "log": source.log})
            if self.chance(0.06):
                events.append({"op": "restart"})
            if self.chance(0.08):
                events.append({"op": "expect"})
        if self.chance(0.2):  # everything that may go goes
            for row in live:
                if not row["log"]:
                    events.append({"op": "retract", "of": row["id"], "source": row["source"]})
        if self.chance(0.3):
            events.insert(0, {"op": "expect"})
        events.append({"op": "expect"})
        return events

    # ---- expressions; leaves: kind -> expressions to start from ----

    def literal(self, kind):
        if kind == "L":
            _, size, values = self.pick(LONGS if self.chance(0.3) else LONGS[:1])
            return Lit(self.pick(values), kind, size)
        if kind == "D":
            _, size, values = self.pick(DOUBLES if self.chance(0.3) else DOUBLES[:1])
            return Lit(self.pick(values), kind, size)
        if kind == "S":
            return Lit(self.pick([v for v in self.pick(STRINGS)[1] if "\0" not in v]), kind)
        if kind == "B":
            return Lit(self.pick((True, False)), kind)
        return Lit(self.pick(TIMES), kind)

    def leaf(self, kind, leaves):
        if leaves.get(kind) and self.chance(0.85):
            return self.pick(leaves[kind])
        if self.chance(0.05):
            return Lit(None, kind, (0, 0) if kind in "LD" else None)
        return self.literal(kind)

    def expr(self, kind, depth, leaves, outer=None):
        """outer: a function that gives a condition with a subquery, or None where none may stand."""
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, leaves)
        if outer and self.chance(0.12):
            made = outer(kind, leaves)
            if made is not None:
                return made
        choices = [op for op in ops.BY_RESULT[kind]
                   if all(leaves.get(k) or depth > 1 for k in op.args)]
        if not choices:
            return self.leaf(kind, leaves)
        op = self.random.choices(choices, [op.weight for op in choices])[0]
        args = tuple(self.expr(k, depth - 1, leaves, outer if kind == "B" else None) for k in op.args)
        size = op.size(*(arg.size for arg in args)) if op.size else None
        return Call(op.name, args, kind, size if kind in "LD" else None)

    def condition(self, leaves, outer=None):
        return self.expr("B", self.pick((1, 2, 2, 3)), leaves, outer)

    def any_kind(self, leaves):
        kinds = [kind for kind in "LDSBT" if leaves.get(kind)]
        return self.pick(kinds) if kinds else "L"

    def item_expr(self, leaves, outer=None):
        kind = self.any_kind(leaves) if self.chance(0.8) else self.pick("LDSBT")
        return self.expr(kind, self.pick((0, 0, 1, 2)), leaves, outer)

    # ---- FROM ----

    def leaves_of(self, source):
        leaves = {}
        for alias, columns, dated in self.inputs(source):
            for c in columns:
                leaves.setdefault(c.kind, []).append(Col(alias, c.name, c.kind, c.size))
        if isinstance(source, Rel) and source.dated and self.chance(0.1):
            leaves.setdefault("L", []).append(Col(source.alias, "_ts", "L", (0, 45)))
        return leaves

    def inputs(self, source):
        if isinstance(source, Rel):
            yield source.alias, source.columns, source.dated
        elif isinstance(source, Derived):
            yield source.alias, columns_of(source.query), False
        else:
            yield from self.inputs(source.left)
            yield from self.inputs(source.right)

    def relation(self, relations):
        base = self.pick([r for r in relations if not r.frees])
        return Rel(base.name, self.name("r"), base.columns, base.log, base.dated)

    def from_item(self, depth, relations):
        if depth > 0 and self.chance(0.3):
            return Derived(self.query(depth - 1, relations), self.name("d"))
        return self.relation(relations)

    def from_clause(self, depth, relations):
        source = self.from_item(depth, relations)
        joins = self.pick((0, 0, 0, 1, 1, 2)) if depth > 0 else self.pick((0, 0, 0, 1))
        for _ in range(joins):
            source = self.join(source, self.from_item(depth - 1, relations))
        return source

    def join(self, left, right):
        kind = self.random.choices(("INNER", "LEFT", "RIGHT", "FULL", "CROSS"), (4, 4, 3, 3, 0.7))[0]
        if kind == "CROSS":
            return Join(kind, left, right)
        mine, other = self.leaves_of(left), self.leaves_of(right)
        equal = []
        for _ in range(self.pick((1, 1, 1, 2, 3))):
            kinds = [k for k in "LDSBT" if mine.get(k) and other.get(k)]
            if kinds:
                k = self.pick(kinds)
                a, b = self.pick(mine[k]), self.pick(other[k])
                if self.chance(0.15):
                    a = self.expr(k, 1, mine)
                    if not any(isinstance(n, Col) for n in self.columns_in(a)):
                        a = self.pick(mine[k])
                equal.append(Call(f"{k} = {k}", (a, b) if self.chance(0.5) else (b, a), "B"))
            elif mine.get("L") and other.get("D"):
                equal.append(Call("L = D", (self.pick(mine["L"]), self.pick(other["D"])), "B"))
        both = {k: mine.get(k, []) + other.get(k, []) for k in "LDSBT"}
        on = equal
        if not equal or self.chance(0.3):
            on = equal + [self.expr("B", 2, both)]
        condition = on[0]
        for term in on[1:]:
            condition = Call("AND", (condition, term), "B")
        return Join(kind, left, right, condition)

    def columns_in(self, e):
        if isinstance(e, Call):
            for arg in e.args:
                yield from self.columns_in(arg)
        else:
            yield e

    # ---- subqueries ----

    def subquery_maker(self, depth, relations):
        def make(kind, leaves):
            if kind == "B":
                return self.pick((self.membership, self.membership, self.existence))(depth, relations, leaves)
            return self.scalar(kind, depth, relations, leaves)
        return make

    def inner_select(self, depth, relations, leaves, correlate):
        """FROM and WHERE of a subquery; correlated by an equality when wanted and possible."""
        source = self.from_clause(0, relations)
        inner = self.leaves_of(source)
        where = self.condition(inner) if self.chance(0.5) else None
        kinds = [k for k in "LSDT" if inner.get(k) and any(isinstance(e, Col) for e in leaves.get(k, []))]
        if correlate and kinds:
            k = self.pick(kinds)
            outer = self.pick([e for e in leaves[k] if isinstance(e, Col)])
            tie = Call(f"{k} = {k}", (self.pick(inner[k]), outer), "B")
            where = tie if where is None else Call("AND", (tie, where), "B")
        return source, inner, where

    def membership(self, depth, relations, leaves):
        source, inner, where = self.inner_select(depth, relations, leaves, self.chance(0.2))
        kinds = [k for k in "LDSTB" if inner.get(k) and leaves.get(k)]
        if not kinds:
            return None
        k = self.pick(kinds)
        left = self.expr(k, 1 if self.chance(0.2) else 0, {k: leaves[k]})
        return In((left,), Select((Item(self.pick(inner[k]), "m"),), source, where), self.chance(0.5))

    def row_membership(self, relations, leaves):
        """(a, b) IN: a term of WHERE, not correlated, not negated."""
        source, inner, where = self.inner_select(0, relations, leaves, False)
        kinds = [k for k in "LDSTB" if inner.get(k) and leaves.get(k)]
        if not kinds:
            return None
        pairs = [self.pick(kinds), self.pick(kinds)]
        items = tuple(Item(self.pick(inner[k]), f"m{i}") for i, k in enumerate(pairs))
        return In(tuple(self.pick(leaves[k]) for k in pairs), Select(items, source, where), False)

    def existence(self, depth, relations, leaves):
        source, inner, where = self.inner_select(depth, relations, leaves, self.chance(0.8))
        return Exists(Select((Item(Lit(1, "L", (0, 1)), "one"),), source, where), self.chance(0.5))

    def scalar(self, kind, depth, relations, leaves):
        source, inner, where = self.inner_select(depth, relations, leaves, self.chance(0.5))
        agg = self.aggregate(kind, inner)
        if agg is None:
            return None
        return Scalar(Select((Item(agg, "v"),), source, where), kind)

    # ---- SELECT ----

    def aggregate(self, kind, leaves):
        """An aggregate with a result of this kind; None when the columns give none."""
        for _ in range(8):
            name = self.pick(AGGREGATES)
            filter_ = self.condition(leaves) if self.chance(0.12) else None
            distinct = self.chance(0.12)
            made = self.aggregate_of(name, kind, leaves, distinct, filter_)
            if made is not None:
                return made
        return None

    def aggregate_of(self, name, kind, leaves, distinct, filter_):
        def arg(k):
            return self.expr(k, self.pick((0, 0, 0, 1)), leaves)
        if name == "COUNT":
            if kind != "L":
                return None
            if self.chance(0.4):
                return Agg("COUNT", None, "L", False, filter_, None, (0, 20))
            return Agg("COUNT", arg(self.any_kind(leaves)), "L", distinct, filter_, None, (0, 20))
        if name in ("MIN", "MAX"):
            x = arg(kind)
            return Agg(name, x, kind, distinct, filter_, None, x.size)
        if name in ("BOOL_AND", "BOOL_OR"):
            return Agg(name, arg("B"), "B", distinct, filter_) if kind == "B" else None
        if kind not in ("D", "L") or (kind == "L" and name != "SUM"):
            return None
        x = arg("L" if kind == "L" else self.pick("DL") if name != "SUM" else "D")
        if x.size is None or sum(x.size) > (40 if name in SPREAD else 85):
            return None
        share = self.pick((0, 0.1, 0.25, 0.5, 0.9, 1)) if name == "PERCENTILE_CONT" else None
        size = (x.size[0], x.size[1] + 10) if name == "SUM" else None
        if size and kind == "L":
            size = (0, min(63, size[1]))
        return Agg(name, x, kind, distinct, filter_, share, size)

    def items(self, make, count):
        return tuple(Item(make(), f"o{i}") for i in range(count))

    def plain(self, depth, relations):
        source = self.from_clause(depth, relations)
        leaves = self.leaves_of(source)
        outer = self.subquery_maker(depth, relations) if self.chance(0.6) else None
        where = self.condition(leaves, outer) if self.chance(0.6) else None
        rows = self.row_membership(relations, leaves) if self.chance(0.04) else None
        if rows:
            where = rows if where is None else Call("AND", (rows, where), "B")
        scalars = outer if self.chance(0.3) else None
        items = self.items(lambda: self.item_expr(leaves, scalars), self.random.randint(1, 4))
        return Select(items, source, where, distinct=self.chance(0.2))

    def grouped(self, depth, relations):
        source = self.from_clause(depth, relations)
        leaves = self.leaves_of(source)
        outer = self.subquery_maker(depth, relations) if self.chance(0.3) else None
        where = self.condition(leaves, outer) if self.chance(0.5) else None
        keys = []
        for _ in range(self.pick((0, 1, 1, 1, 2, 3))):
            kind = self.any_kind(leaves)
            key = self.pick(leaves[kind]) if self.chance(0.75) else self.expr(kind, 1, leaves)
            if key not in keys and any(isinstance(n, Col) for n in self.columns_in(key)):
                keys.append(key)
        aggregates = [a for a in (self.aggregate(self.pick("LLLDDSTB"), leaves)
                                  for _ in range(self.random.randint(1, 3))) if a is not None]
        if not keys and not aggregates:
            aggregates.append(Agg("COUNT", None, "L", size=(0, 20)))
        after = {}
        for e in keys + aggregates:
            after.setdefault(e.kind, []).append(e)
        exprs = keys + aggregates
        if self.chance(0.3):
            exprs.append(self.expr(self.any_kind(after), 1, after))
        having = self.condition(after) if self.chance(0.3) else None
        form, sets = "LIST", ()
        # Keys that simplify to the same expression are one key; DuckDB keeps them apart.
        if len(keys) in (1, 2) and all(isinstance(key, Col) for key in keys) and self.chance(0.15):
            form = self.pick(("ROLLUP", "CUBE", "SETS"))
            if form == "SETS":
                sets = tuple(self.pick(((), (0,), tuple(range(len(keys))), (len(keys) - 1,)))
                             for _ in range(self.random.randint(1, 3)))
                if not all(any(i in places for places in sets) for i in range(len(keys))):
                    sets += (tuple(range(len(keys))),)
        return Select(tuple(Item(e, f"o{i}") for i, e in enumerate(exprs)), source, where,
                      tuple(keys), form, sets, having)

    def latest(self, depth, relations):
        frees = [r for r in relations if r.frees]
        dated = [r for r in relations if r.dated]
        if frees and self.chance(0.5):
            dated = frees
        if not dated:
            return self.plain(depth, relations)
        base = self.pick(dated)
        source = Rel(base.name, self.name("r"), base.columns, base.log, True)
        leaves = self.leaves_of(source)
        columns = [e for kind in leaves.values() for e in kind if e.name != "_ts"]
        keys = tuple(self.random.sample(columns, min(len(columns), self.pick((1, 1, 2)))))
        where = self.condition(leaves) if self.chance(0.4) else None
        items = self.items(lambda: self.item_expr(leaves), self.random.randint(1, 4))
        return Select(items, source, where, latest=keys)

    def set_operation(self, depth, relations):
        left = self.branch(depth, relations, None)
        chain = left
        op = self.pick(("UNION", "UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL",
                        "INTERSECT ALL"))
        for _ in range(self.pick((1, 1, 2)) if op.startswith("UNION") else 1):
            right = self.branch(depth, relations, [c.kind for c in columns_of(chain)],
                                mixed=op != "UNION ALL" and chain is left)
            chain = SetOp(op, chain, right)
        return chain

    def branch(self, depth, relations, kinds, mixed=False):
        source = self.from_item(depth, relations)
        leaves = self.leaves_of(source)
        where = self.condition(leaves) if self.chance(0.4) else None
        if kinds is None:
            return Select(self.items(lambda: self.item_expr(leaves), self.random.randint(1, 3)), source, where)
        if mixed:  # Long and Double meet as Double
            kinds = [{"L": "D", "D": "L"}.get(k, k) if self.chance(0.2) else k for k in kinds]
        exprs = [self.expr(k, self.pick((0, 0, 1)), leaves) for k in kinds]
        return Select(tuple(Item(e, f"o{i}") for i, e in enumerate(exprs)), source, where)

    def query(self, depth, relations):
        shape = self.random.choices((self.plain, self.grouped, self.latest, self.set_operation),
                                    (5, 5, 1.5, 1.5))[0]
        return shape(depth, relations)

    def with_query(self, relations):
        ctes, known = [], list(relations)
        for _ in range(self.pick((1, 1, 2))):
            made = self.query(1, known)
            cte = Cte(self.name("w"), made)
            ctes.append(cte)
            known.append(Known(cte.name, columns_of(made), False, is_dated(made), False))
        return With(tuple(ctes), self.query(1, known[len(relations):] + [self.pick(relations)]))

    # ---- cases ----

    def case(self, id):
        self.names = 0
        sources = [self.source(f"s{i}") for i in range(self.pick((1, 1, 2, 2, 3)))]
        if all(s.frees for s in sources):
            sources[0].frees = False
        relations = [Known(s.name, s.columns, s.log, True, s.frees) for s in sources]
        tables = []
        for i in range(self.pick((0, 0, 0, 1, 1, 2))):
            made = self.query(1, relations)
            tables.append(Table(f"t{i}", made))
            relations.append(Known(f"t{i}", columns_of(made), False, is_dated(made), False))
        query = self.with_query(relations) if self.chance(0.12) else self.query(self.pick((1, 1, 2)), relations)
        return Case(id, sources, tables, query, self.history(sources, self.pick((3, 8, 16, 30))))


@dataclass
class Known:
    """A name that FROM may use."""
    name: str
    columns: tuple
    log: bool
    dated: bool
    frees: bool
