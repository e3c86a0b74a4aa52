"""The same query for DuckDB, and DuckDB as the judge.

Every row of a source's history is in a table with the place it was given at and the place it was
taken back at. A view shows the rows that live at getvariable('moment'). Tables are views over them, so
an answer at any moment is the query computed from scratch.
"""

import duckdb

from ops import OPS
from tree import (Agg, Call, Col, Derived, Exists, In, Join, Lit, Rel, Scalar, SetOp, With,
                  columns_of, is_dated)

TYPES = {"L": "BIGINT", "D": "DOUBLE", "S": "VARCHAR", "B": "BOOLEAN", "T": "BIGINT"}

MACROS = """
CREATE MACRO fin(x) AS CASE WHEN isfinite(x) THEN x END;
CREATE MACRO d2l(x) AS CASE WHEN x >= -9223372036854775808::DOUBLE AND x < 9223372036854775808::DOUBLE
  THEN trunc(x)::BIGINT END;
CREATE MACRO s2l(s) AS CASE WHEN regexp_full_match(trim(s, E' \\t\\r\\n'), '[+-]?[0-9]+')
  THEN TRY_CAST(ltrim(trim(s, E' \\t\\r\\n'), '+') AS BIGINT) END;
CREATE MACRO s2b(s) AS CASE WHEN s IS NULL THEN NULL ELSE lower(trim(s, E' \\t\\r\\n')) NOT IN ('false', '0', '') END;
CREATE MACRO pick(s, f, n) AS CASE WHEN n >= 0 AND f IS NOT NULL THEN substring(s, least(greatest(f, 1), 1000000),
  least(greatest(0, f::HUGEINT + n::HUGEINT - greatest(f, 1)::HUGEINT), 1000000)::BIGINT) END;
CREATE MACRO swap(s, a, b) AS CASE WHEN a = '' AND b IS NOT NULL THEN s ELSE replace(s, a, b) END;
CREATE MACRO stamp(t) AS CASE WHEN t BETWEEN -62135596800000 AND 253402300799999
  THEN make_timestamp(t * 1000) END;
CREATE MACRO back(s) AS epoch_ms(s);
CREATE MACRO compare_ld(l, d) AS CASE WHEN l IS NULL OR d IS NULL THEN NULL
  WHEN d >= 9223372036854775808::DOUBLE THEN -1 WHEN d < -9223372036854775808::DOUBLE THEN 1
  WHEN l < floor(d)::BIGINT THEN -1 WHEN l > floor(d)::BIGINT THEN 1
  WHEN d > floor(d) THEN -1 ELSE 0 END;
"""


def quoted(text):
    # the lexer of DuckDB's Python client stops at NUL
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def literal(value, kind):
    if value is None:
        return f"NULL::{TYPES[kind]}"
    if kind == "S":
        return quoted(value)
    if kind == "B":
        return "true" if value else "false"
    return f"'{float(value)!r}'::DOUBLE" if kind == "D" else f"({value})::BIGINT"


def expr(e):
    if isinstance(e, Col):
        return f'"{e.alias}"."{e.name}"' if e.alias else f'"{e.name}"'
    if isinstance(e, Lit):
        return literal(e.value, e.kind)
    if isinstance(e, Call):
        return "(" + OPS[e.op].duck.format(*map(expr, e.args)) + ")"
    if isinstance(e, Agg):
        return aggregate(e)
    if isinstance(e, In):
        return membership(e)
    if isinstance(e, Exists):
        return f"({'NOT ' if e.negated else ''}EXISTS ({query(e.query)}))"
    assert isinstance(e, Scalar), e
    return f"({query(e.query)})"


def membership(e):
    """NULLs of the subquery are left out: they neither match nor make the answer unknown."""
    columns = columns_of(e.query)
    known = " AND ".join(f'n."{c.name}" IS NOT NULL' for c in columns)
    inner = f"SELECT * FROM ({query(e.query)}) AS n WHERE {known}"
    left = expr(e.left[0]) if len(e.left) == 1 else f"({', '.join(map(expr, e.left))})"
    return f"({left} {'NOT IN' if e.negated else 'IN'} ({inner}))"


# ---- aggregates: sums are exact, in 128 bits of the smallest unit ----

def aggregate(e):
    tail = "" if e.filter is None else f" FILTER (WHERE {expr(e.filter)})"
    if e.arg is None:
        return f"COUNT(*){tail}"
    words = "DISTINCT " if e.distinct else ""
    x = expr(e.arg)
    count = f"COUNT({words}{x}){tail}"
    if e.name in ("MIN", "MAX", "COUNT", "BOOL_AND", "BOOL_OR"):
        return f"{e.name}({words}{x}){tail}"
    if e.name in ("MEDIAN", "PERCENTILE_CONT"):
        share = 0.5 if e.name == "MEDIAN" else e.share
        return f"quantile_cont({words}({x})::DOUBLE, {share}){tail}"
    grain = e.arg.size[0] if e.arg.kind == "D" else 0
    units = f"(({x}) * {2 ** grain})::HUGEINT" if grain else f"({x})::HUGEINT"
    total = f"SUM({words}{units}){tail}"
    scaled = f"(({total})::DOUBLE / {float(2 ** grain)!r}::DOUBLE)"
    if e.name == "SUM":
        return f"TRY_CAST({total} AS BIGINT)" if e.arg.kind == "L" else scaled
    if e.name == "AVG":
        return f"({scaled} / NULLIF({count}, 0)::DOUBLE)"
    return spread(e, units, words, tail, grain)


def spread(e, units, words, tail, grain):
    values = f"list_filter(list({words}{units}){tail}, lambda v: v IS NOT NULL)"
    macro = "var_of" if e.name.startswith("VAR") else "std_of"
    return f"{macro}({values}, {float(4 ** grain)!r}, {'true' if e.name.endswith('POP') else 'false'})"


# n * sum of squares - square of the sum, over n * (n - 1) or n * n: exact before the division.
MACROS += """
CREATE MACRO var_of(l, unit, pop) AS
  (len(l) * list_sum(list_transform(l, lambda v: v * v)) - list_sum(l) * list_sum(l))::DOUBLE
  / NULLIF(len(l) * (len(l) - CASE WHEN pop THEN 0 ELSE 1 END), 0)::DOUBLE / unit::DOUBLE;
CREATE MACRO std_of(l, unit, pop) AS sqrt(var_of(l, unit, pop));
"""


# ---- relations and queries ----

def relation(source):
    if isinstance(source, Rel):
        return f'"{source.name}" AS "{source.alias}"'
    if isinstance(source, Derived):
        return f'({query(source.query, dated=is_dated(source.query))}) AS "{source.alias}"'
    assert isinstance(source, Join), source
    text = f"{relation(source.left)} {source.kind} JOIN {relation(source.right)}"
    if source.using:
        return f"{text} USING ({', '.join(source.using)})"
    return text if source.on is None else f"{text} ON {expr(source.on)}"


def grouping(select):
    keys = [expr(key) for key in select.group]
    if select.form == "SETS":
        sets = ", ".join(f"({', '.join(keys[i] for i in places)})" for places in select.sets)
        return f"GROUPING SETS ({sets})"
    return ", ".join(keys) if select.form == "LIST" else f"{select.form} ({', '.join(keys)})"


def query(q, dated=False):
    if isinstance(q, With):
        ctes = ", ".join(f'"{cte.name}" AS ({query(cte.query, is_dated(cte.query))})' for cte in q.ctes)
        return f"WITH {ctes} {query(q.query, dated)}"
    if isinstance(q, SetOp):
        left, right = columns_of(q.left), columns_of(q.right)
        return f"{side(q.left, left, right)} {q.op} {side(q.right, right, left)}"
    if q.latest is not None:
        return latest(q, dated)
    text = "SELECT " + ("DISTINCT " if q.distinct else "")
    text += ", ".join([f'{expr(item.expr)} AS "{item.name}"' for item in q.items] +
                      ([f'"{alias_of(q.source)}"."_ts" AS "_ts"'] if dated else []))
    text += f" FROM {relation(q.source)}"
    if q.where is not None:
        text += f" WHERE {expr(q.where)}"
    if q.group:
        text += f" GROUP BY {grouping(q)}"
    if q.having is not None:
        text += f" HAVING {expr(q.having)}"
    return text


def side(q, own, other):
    """One side of a set operation, its Longs made Doubles where the other side has them."""
    text = query(q)
    if isinstance(q, SetOp):
        return text  # chains are of equal kinds
    if all(a.kind == b.kind or a.kind == "D" for a, b in zip(own, other)):
        return f"({text})"
    columns = ", ".join(f'"{a.name}"::DOUBLE AS "{a.name}"' if a.kind != b.kind else f'"{a.name}"'
                        for a, b in zip(own, other))
    return f"(SELECT {columns} FROM ({text}))"


def alias_of(source):
    return source.alias


def latest(q, dated):
    """The newest row of each key. Over a source by its log: a row with _retract frees the key, and
    what came before it does not come back. Over anything else by the rows that live."""
    alias = alias_of(q.source)
    keys = ", ".join(expr(key) for key in q.latest)
    where = "" if q.where is None else f" WHERE {expr(q.where)}"
    items = ", ".join([f'{expr(item.expr)} AS "{item.name}"' for item in q.items] +
                      (['"_ts"'] if dated else []))
    if not isinstance(q.source, Rel) or not q.source.source:
        inner = (f'SELECT "{alias}".* FROM {relation(q.source)}{where} QUALIFY row_number() OVER '
                 f'(PARTITION BY {keys} ORDER BY "{alias}"."_ts" DESC) = 1')
        return f'SELECT {items} FROM ({inner}) AS "{alias}"'
    log = (f'SELECT "{alias}".*, max(CASE WHEN "{alias}"."_retract" THEN "{alias}"."_seq" END) OVER '
           f'(PARTITION BY {keys}) AS "_freed" FROM "{q.source.name} log" AS "{alias}"{where}')
    inner = (f'SELECT * FROM ({log}) AS "{alias}" WHERE NOT "_retract" AND ("_freed" IS NULL OR '
             f'"_seq" > "_freed") QUALIFY row_number() OVER (PARTITION BY {keys} '
             f'ORDER BY "_ts" DESC, "_seq" DESC) = 1')
    return f'SELECT {items} FROM ({inner}) AS "{alias}"'


# ---- the judge ----

class Judge:
    def __init__(self):
        self.db = duckdb.connect(config={"threads": 1})
        self.db.execute(MACROS)
        self.schemas = 0

    def answers(self, case):
        """For each 'expect' event the rows of the answer at that moment, as lists of values."""
        self.schemas += 1
        schema = f"c{self.schemas}"
        self.db.execute(f"CREATE SCHEMA {schema}; SET schema = '{schema}'")
        try:
            return self._answers(case)
        finally:
            self.db.execute(f"SET schema = 'main'; DROP SCHEMA {schema} CASCADE")

    def _answers(self, case):
        for source in case.sources:
            self._load(case, source)
        for table in case.tables:
            self.db.execute(f'CREATE VIEW "{table.name}" AS {query(table.query, is_dated(table.query))}')
        text = query(case.query)
        names = [column.name for column in columns_of(case.query)]
        answers = []
        for place, event in enumerate(case.events):
            if event["op"] != "expect":
                continue
            self.db.execute(f"SET VARIABLE moment = {place}")
            rows = self.db.execute(text).fetchall()
            answers.append([dict(zip(names, row)) for row in rows])
        return answers

    def _load(self, case, source):
        columns = ", ".join(f'"{c.name}" {TYPES[c.kind]}' for c in source.columns)
        self.db.execute(f'CREATE TABLE "{source.name} all" ({columns}, "_ts" BIGINT, "_seq" BIGINT, '
                        f'"_gone" BIGINT, "_retract" BOOLEAN)')
        gone = {event["of"]: place for place, event in enumerate(case.events) if event["op"] == "retract"}
        rows = []
        for place, event in enumerate(case.events):
            if event["op"] == "row" and event["source"] == source.name:
                rows.append([event["row"][c.name] for c in source.columns] +
                            [event["ts"], place, gone.get(event["id"]), event.get("frees", False)])
        if rows:
            marks = f"({', '.join('?' * len(rows[0]))})"
            self.db.execute(f'INSERT INTO "{source.name} all" VALUES {", ".join([marks] * len(rows))}',
                            [value for row in rows for value in row])
        live = "\"_seq\" < getvariable('moment')::BIGINT"
        self.db.execute(f'CREATE VIEW "{source.name} log" AS SELECT * FROM "{source.name} all" WHERE {live}')
        self.db.execute(f'CREATE VIEW "{source.name}" AS SELECT * FROM "{source.name} all" WHERE {live} '
                        f"AND (\"_gone\" IS NULL OR \"_gone\" > getvariable('moment')::BIGINT)")
