"""The text of a query in this project's dialect."""

from ops import OPS
from tree import (Agg, Call, Col, Derived, Exists, In, Join, Lit, Rel, Scalar, SetOp, With)


def literal(value, kind):
    if value is None:
        return {"L": "CAST(NULL AS BIGINT)", "D": "CAST(NULL AS DOUBLE)", "S": "CAST(NULL AS TEXT)",
                "B": "CAST(NULL AS BOOLEAN)", "T": "CAST(NULL AS TIMESTAMP)"}[kind]
    if kind == "S":
        return "'" + value.replace("'", "''") + "'"
    if kind == "B":
        return "true" if value else "false"
    if kind == "T":
        return f"TO_TIMESTAMP({value})"
    if kind == "D":
        text = repr(float(value))
        return f"({text})" if text.startswith("-") else text
    return f"({value})" if value < 0 else str(value)


def expr(e):
    if isinstance(e, Col):
        return f"{e.alias}.{e.name}" if e.alias else e.name
    if isinstance(e, Lit):
        return literal(e.value, e.kind)
    if isinstance(e, Call):
        return OPS[e.op].sf.format(*map(expr, e.args))
    if isinstance(e, Agg):
        return aggregate(e)
    if isinstance(e, In):
        left = expr(e.left[0]) if len(e.left) == 1 else f"({', '.join(map(expr, e.left))})"
        return f"({left} {'NOT IN' if e.negated else 'IN'} ({query(e.query)}))"
    if isinstance(e, Exists):
        return f"({'NOT ' if e.negated else ''}EXISTS ({query(e.query)}))"
    assert isinstance(e, Scalar), e
    return f"({query(e.query)})"


def aggregate(e):
    if e.arg is None:
        text = "COUNT(*)"
    else:
        words = "DISTINCT " if e.distinct else ""
        share = f"{e.share}, " if e.name == "PERCENTILE_CONT" else ""
        text = f"{e.name}({words}{share}{expr(e.arg)})"
    return text if e.filter is None else f"{text} FILTER (WHERE {expr(e.filter)})"


def relation(source):
    if isinstance(source, Rel):
        return source.name if source.name == source.alias else f"{source.name} AS {source.alias}"
    if isinstance(source, Derived):
        return f"({query(source.query)}) AS {source.alias}"
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


def query(q):
    if isinstance(q, With):
        ctes = ", ".join(f"{cte.name} AS ({query(cte.query)})" for cte in q.ctes)
        return f"WITH {ctes} {query(q.query)}"
    if isinstance(q, SetOp):
        return f"{query(q.left)} {q.op} {query(q.right)}"
    text = "SELECT " + ("DISTINCT " if q.distinct else "")
    text += ", ".join(f"{expr(item.expr)} AS {item.name}" for item in q.items)
    text += f" FROM {relation(q.source)}"
    if q.where is not None:
        text += f" WHERE {expr(q.where)}"
    if q.latest is not None:
        text += f" LATEST BY ({', '.join(map(expr, q.latest))})"
    if q.group:
        text += f" GROUP BY {grouping(q)}"
    if q.having is not None:
        text += f" HAVING {expr(q.having)}"
    return text
