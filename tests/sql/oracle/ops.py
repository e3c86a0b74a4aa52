"""Scalar operators and functions: how each is written in the two dialects.

An Op takes arguments of the kinds in `args` and gives `result`. {0}, {1} are the arguments. The
DuckDB text expresses the rules of this project where the two differ: whole numbers are computed in
128 bits and become NULL out of range, division is of doubles and NULL by zero, a double that is not
finite becomes NULL, Long and Double compare exactly. The macros are in duck.py.
"""

from dataclasses import dataclass
from typing import Callable, Optional


@dataclass(frozen=True)
class Op:
    name: str
    args: str  # one letter a kind
    result: str
    sf: str
    duck: str
    size: Optional[Callable] = None  # sizes of the arguments -> size of the result
    weight: float = 1.0


OPS = {}


def op(name, args, result, sf, duck, size=None, weight=1.0):
    OPS[name] = Op(name, args, result, sf, duck, size, weight)


# ---- sizes ----

BITS_MAX = 90


def bounded(size):
    return size if size and size[0] + size[1] <= BITS_MAX else None


def size_sum(a, b):
    return a and b and bounded((max(a[0], b[0]), max(a[1], b[1]) + 1))


def size_product(a, b):
    return a and b and bounded((a[0] + b[0], a[1] + b[1]))


def size_any(*sizes):
    if not all(sizes):
        return None
    return max(g for g, _ in sizes), max(b for _, b in sizes)


def size_same(a, *_):
    return a


def size_whole(a, *_):
    return a and (0, a[1] + 1)


def long_size(rule):
    """The result is a Long: out of range it is NULL."""
    def size(*args):
        got = rule(*args)
        return (0, min(got[1], 63)) if got else (0, 63)
    return size


def fixed(grain, bits):
    return lambda *args: (grain, bits)


# ---- numbers ----

# A time of the years 1 to 9999, which both sides know; others are NULL.
CALENDAR = ("CASE WHEN {0} BETWEEN TO_TIMESTAMP(-62135596800000) AND TO_TIMESTAMP(253402300799999) "
            "THEN {0} END")


def long_op(text):
    return f"TRY_CAST({text} AS BIGINT)"


op("long +", "LL", "L", "({0} + {1})", long_op("{0}::HUGEINT + {1}::HUGEINT"), long_size(size_sum), 3)
op("long -", "LL", "L", "({0} - {1})", long_op("{0}::HUGEINT - {1}::HUGEINT"), long_size(size_sum), 2)
op("long *", "LL", "L", "({0} * {1})", long_op("{0}::HUGEINT * {1}::HUGEINT"), long_size(size_product), 2)
op("long %", "LL", "L", "({0} % {1})", long_op("{0}::HUGEINT % NULLIF({1}, 0)::HUGEINT"), long_size(size_same))
op("long MOD", "LL", "L", "MOD({0}, {1})", long_op("{0}::HUGEINT % NULLIF({1}, 0)::HUGEINT"),
   long_size(size_same), 0.3)
op("long neg", "L", "L", "(- {0})", long_op("-({0}::HUGEINT)"), long_size(size_same))
op("long ABS", "L", "L", "ABS({0})", long_op("abs({0}::HUGEINT)"), long_size(size_same))
op("long SIGN", "L", "L", "SIGN({0})", "sign({0})::BIGINT", fixed(0, 1), 0.5)
op("time - time", "TT", "L", "({0} - {1})", long_op("{0}::HUGEINT - {1}::HUGEINT"), fixed(0, 63), 0.7)
op("LENGTH", "S", "L", "LENGTH({0})", "length({0})", fixed(0, 20))
op("OCTET_LENGTH", "S", "L", "OCTET_LENGTH({0})", "octet_length(encode({0}))", fixed(0, 20), 0.5)
op("POSITION", "SS", "L", "POSITION({0} IN {1})", "position({0} IN {1})", fixed(0, 20), 0.5)
op("bool to long", "B", "L", "CAST({0} AS BIGINT)", "({0})::BIGINT", fixed(0, 1), 0.5)
op("double to long", "D", "L", "TO_LONG({0})", "d2l({0})", long_size(size_whole), 0.7)
op("text to long", "S", "L", "CAST({0} AS BIGINT)", "s2l({0})", fixed(0, 63), 0.7)
op("time to long", "T", "L", "TO_LONG({0})", "({0})", fixed(0, 63), 0.5)
op("EXTRACT year", "T", "L", f"EXTRACT(YEAR FROM {CALENDAR})", "year(stamp({0}))", fixed(0, 14), 0.3)
op("EXTRACT hour", "T", "L", f"EXTRACT(HOUR FROM {CALENDAR})", "hour(stamp({0}))", fixed(0, 5), 0.3)

for sign, rule, weight in (("+", size_sum, 3), ("-", size_sum, 2), ("*", size_product, 2)):
    op(f"double {sign}", "DD", "D", f"({{0}} {sign} {{1}})", f"fin({{0}} {sign} {{1}})", rule, weight)
    op(f"mixed {sign}", "LD", "D", f"({{0}} {sign} {{1}})", f"fin({{0}}::DOUBLE {sign} {{1}})", rule, weight / 2)
    op(f"mixed {sign} '", "DL", "D", f"({{0}} {sign} {{1}})", f"fin({{0}} {sign} {{1}}::DOUBLE)", rule, weight / 2)
op("double /", "DD", "D", "({0} / {1})", "fin({0} / NULLIF({1}, 0::DOUBLE))", None, 2)
op("long /", "LL", "D", "({0} / {1})", "fin({0}::DOUBLE / NULLIF({1}, 0)::DOUBLE)", None, 2)
op("mixed /", "DL", "D", "({0} / {1})", "fin({0} / NULLIF({1}, 0)::DOUBLE)")
op("double %", "DD", "D", "({0} % {1})", "fin({0} % NULLIF({1}, 0::DOUBLE))", size_any, 0.5)
op("double neg", "D", "D", "(- {0})", "(-({0}))", size_same)
op("double ABS", "D", "D", "ABS({0})", "abs({0})", size_same)
op("ROUND", "D", "D", "ROUND({0})", "round({0})", size_whole)
op("FLOOR", "D", "D", "FLOOR({0})", "floor({0})", size_whole, 0.5)
op("CEIL", "D", "D", "CEIL({0})", "ceil({0})", size_whole, 0.5)
op("TRUNC", "D", "D", "TRUNC({0})", "trunc({0})", size_whole, 0.5)
op("long to double", "L", "D", "CAST({0} AS DOUBLE)", "({0})::DOUBLE", size_same)
op("SQRT", "D", "D", "SQRT({0})", "sqrt(CASE WHEN {0} >= 0 THEN {0} END)", None, 0.4)

# ---- texts ----
op("||", "SS", "S", "({0} || {1})", "({0} || {1})", None, 2)
op("UPPER", "S", "S", "UPPER({0})", "upper({0})")
op("LOWER", "S", "S", "LOWER({0})", "lower({0})")
op("SUBSTRING", "SLL", "S", "SUBSTRING({0}, {1}, {2})", "pick({0}, {1}, {2})")
op("TRIM", "S", "S", "TRIM({0})", "trim({0}, ' ')", None, 0.5)
op("REPLACE", "SSS", "S", "REPLACE({0}, {1}, {2})", "swap({0}, {1}, {2})", None, 0.5)
op("long to text", "L", "S", "TO_STRING({0})", "({0})::VARCHAR")
op("bool to text", "B", "S", "TO_STRING({0})", "({0})::VARCHAR", None, 0.5)
op("CONCAT", "SLB", "S", "CONCAT({0}, {1}, {2})", "concat({0}, {1}, {2})", None, 0.4)

# ---- times ----
op("time + long", "TL", "T", "({0} + {1})", long_op("{0}::HUGEINT + {1}::HUGEINT"), None, 2)
op("time - long", "TL", "T", "({0} - {1})", long_op("{0}::HUGEINT - {1}::HUGEINT"))
op("long to time", "L", "T", "TO_TIMESTAMP({0})", "({0})")
op("DATE_TRUNC", "T", "T", f"DATE_TRUNC('hour', {CALENDAR})", "back(date_trunc('hour', stamp({0})))", None, 0.5)

# ---- conditions ----
for sign in ("=", "<>", "<", "<=", ">", ">="):
    weight = 2.0 if sign in "=<" else 1.0
    for kind in "LDSTB":
        op(f"{kind} {sign} {kind}", kind + kind, "B", f"({{0}} {sign} {{1}})", f"({{0}} {sign} {{1}})", None, weight)
    op(f"L {sign} D", "LD", "B", f"({{0}} {sign} {{1}})", f"(compare_ld({{0}}, {{1}}) {sign} 0)", None, weight / 3)
for kind in "LDSTB":
    op(f"{kind} IS NULL", kind, "B", "({0} IS NULL)", "({0} IS NULL)", None, 0.5)
    op(f"{kind} IS NOT NULL", kind, "B", "({0} IS NOT NULL)", "({0} IS NOT NULL)", None, 0.5)
    op(f"{kind} IS DISTINCT FROM", kind + kind, "B", "({0} IS DISTINCT FROM {1})",
       "({0} IS DISTINCT FROM {1})", None, 0.4)
    op(f"{kind} IS NOT DISTINCT FROM", kind + kind, "B", "({0} IS NOT DISTINCT FROM {1})",
       "({0} IS NOT DISTINCT FROM {1})", None, 0.4)
    op(f"{kind} BETWEEN", kind * 3, "B", "({0} BETWEEN {1} AND {2})", "({0} BETWEEN {1} AND {2})", None, 0.4)
    op(f"{kind} NOT BETWEEN", kind * 3, "B", "({0} NOT BETWEEN {1} AND {2})",
       "({0} NOT BETWEEN {1} AND {2})", None, 0.3)
    op(f"{kind} IN list", kind * 4, "B", "({0} IN ({1}, {2}, {3}))", "({0} IN ({1}, {2}, {3}))", None, 0.4)
    op(f"{kind} NOT IN list", kind * 3, "B", "({0} NOT IN ({1}, {2}))", "({0} NOT IN ({1}, {2}))", None, 0.4)
op("AND", "BB", "B", "({0} AND {1})", "({0} AND {1})", None, 5)
op("OR", "BB", "B", "({0} OR {1})", "({0} OR {1})", None, 4)
op("NOT", "B", "B", "(NOT {0})", "(NOT {0})", None, 3)
op("IS TRUE", "B", "B", "({0} IS TRUE)", "(({0}) IS TRUE)", None, 0.5)
op("IS NOT TRUE", "B", "B", "({0} IS NOT TRUE)", "(({0}) IS NOT TRUE)", None, 0.5)
op("IS FALSE", "B", "B", "({0} IS FALSE)", "(({0}) IS FALSE)", None, 0.5)
op("IS NOT FALSE", "B", "B", "({0} IS NOT FALSE)", "(({0}) IS NOT FALSE)", None, 0.5)
op("STARTS_WITH", "SS", "B", "STARTS_WITH({0}, {1})", "starts_with({0}, {1})", None, 0.4)
op("CONTAINS", "SS", "B", "CONTAINS({0}, {1})", "contains({0}, {1})", None, 0.4)
for n, pattern in enumerate(("a%", "%b", "%a%", "_", "_b%", "%", "pre%x_%", "")):
    op(f"LIKE {n}", "S", "B", f"({{0}} LIKE '{pattern}')", f"({{0}} LIKE '{pattern}')", None, 0.2)
    op(f"NOT LIKE {n}", "S", "B", f"({{0}} NOT LIKE '{pattern}')", f"({{0}} NOT LIKE '{pattern}')", None, 0.1)
op("text to bool", "S", "B", "TO_BOOL({0})", "s2b({0})", None, 0.4)
op("long to bool", "L", "B", "CAST({0} AS BOOLEAN)", "({0} <> 0)", None, 0.4)

# ---- choices, for every kind ----
for kind in "LDSTB":
    op(f"{kind} COALESCE", kind * 2, kind, "COALESCE({0}, {1})", "COALESCE({0}, {1})", size_any, 0.7)
    op(f"{kind} IF", "B" + kind * 2, kind, "IF({0}, {1}, {2})", "CASE WHEN {0} THEN {1} ELSE {2} END",
       lambda c, a, b: size_any(a, b), 0.5)
    op(f"{kind} CASE", "B" + kind + "B" + kind, kind, "CASE WHEN {0} THEN {1} WHEN {2} THEN {3} END",
       "CASE WHEN {0} THEN {1} WHEN {2} THEN {3} END", lambda c, a, d, b: size_any(a, b), 0.5)
    op(f"{kind} simple CASE", kind + kind + kind + kind, kind, "CASE {0} WHEN {1} THEN {2} ELSE {3} END",
       "CASE WHEN {0} = {1} THEN {2} ELSE {3} END", lambda w, x, a, b: size_any(a, b), 0.3)
    op(f"{kind} NULLIF", kind * 2, kind, "NULLIF({0}, {1})", "NULLIF({0}, {1})", size_same, 0.5)
for kind in "LDST":
    op(f"{kind} GREATEST", kind * 3, kind, "GREATEST({0}, {1}, {2})", "greatest({0}, {1}, {2})", size_any, 0.4)
    op(f"{kind} LEAST", kind * 2, kind, "LEAST({0}, {1})", "least({0}, {1})", size_any, 0.4)
op("mixed CASE", "BLD", "D", "CASE WHEN {0} THEN {1} ELSE {2} END",
   "CASE WHEN {0} THEN {1}::DOUBLE ELSE {2} END", lambda c, a, b: size_any(a, b), 0.4)
op("mixed COALESCE", "LD", "D", "COALESCE({0}, {1})", "COALESCE({0}::DOUBLE, {1})", size_any, 0.3)

BY_RESULT = {}
for _op in OPS.values():
    BY_RESULT.setdefault(_op.result, []).append(_op)
