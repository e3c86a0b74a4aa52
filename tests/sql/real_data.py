#!/usr/bin/env python3
"""Data sets that this project did not make, through `sf query`, held against DuckDB.

Each question is put twice: to `sf query --from name=file`, and to DuckDB, which reads the same file
with its own reader. The text is the same unless the two dialects differ; then both are given. Rows
compare as multisets, numbers with a relative tolerance of 1e-9.

Run: tests/sql/real_data.py [NAME...]   with SF_BUILD, and DuckDB in the Python that runs it.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("SF_PYTHON", sys.executable)
if PYTHON != sys.executable:
    os.execv(PYTHON, [PYTHON, __file__, *sys.argv[1:]])

import duckdb  # noqa: E402: found only in the suite's own Python

ROOT = Path(os.environ.get("SF_ROOT", HERE.parent.parent))
SF = Path(os.environ.get("SF_BUILD", ROOT / "build" / "debug")) / "sf"
DATA = HERE / "node_modules" / "vega-datasets" / "data"
CALL_SECONDS = 120

# How DuckDB reads each set: (file, SELECT over it). {} is the file.
SETS = {
    "weather": ("weather.csv", "SELECT * REPLACE (CAST(date AS VARCHAR) AS date) FROM read_csv('{}')"),
    "seattle": ("seattle-weather.csv",
                "SELECT * REPLACE (CAST(date AS VARCHAR) AS date) FROM read_csv('{}')"),
    "stocks": ("stocks.csv", "SELECT * FROM read_csv('{}', types={{'date':'VARCHAR'}})"),
    "sp500": ("sp500.csv", "SELECT * FROM read_csv('{}', types={{'date':'VARCHAR'}})"),
    "airports": ("airports.csv", "SELECT * FROM read_csv('{}')"),
    "flights": ("flights-20k.json", "SELECT * REPLACE (CAST(date AS VARCHAR) AS date) FROM read_json('{}')"),
    "lines": ("flights.ndjson", "SELECT * FROM read_json('{}', columns={{'date':'VARCHAR', 'delay':"
              "'BIGINT','distance':'BIGINT','origin':'VARCHAR','destination':'VARCHAR'}})"),
    "cars": ("cars.json", "SELECT * REPLACE (CAST(Year AS VARCHAR) AS Year) FROM read_json('{}')"),
    "penguins": ("penguins.json", "SELECT * FROM read_json('{}')"),
    "gapminder": ("gapminder.json", "SELECT * FROM read_json('{}')"),
    "disasters": ("disasters.csv", "SELECT * FROM read_csv('{}')"),
    "quakes": ("earthquakes.json",
               "SELECT features FROM read_json('{}', columns={{'features':'JSON[]'}}, "
               "maximum_object_size=10000000)"),
}

# (name, relations, SQL, DuckDB's SQL where it differs)
QUESTIONS = []


def ask(name, relations, sql, duck=None):
    QUESTIONS.append((name, relations.split(), sql, duck or sql))


# ---- filters and expressions ----
ask("all columns of a csv", "weather", "SELECT * FROM weather")
ask("filter with arithmetic", "weather",
    "SELECT location, date, temp_max - temp_min AS spread FROM weather "
    "WHERE temp_max - temp_min > 18 AND NOT weather = 'sun'")
ask("three-valued filter over gaps", "penguins",
    """SELECT "Species", "Sex", "Body Mass (g)" / 1000 AS kg FROM penguins """
    """WHERE NOT ("Body Mass (g)" < 5000) OR "Sex" <> 'MALE'""")
ask("conditionals", "seattle",
    "SELECT date, CASE WHEN precipitation = 0 THEN 'dry' WHEN precipitation < 5 THEN 'damp' "
    "ELSE 'wet' END AS label, COALESCE(NULLIF(weather, 'sun'), 'fair') AS sky FROM seattle")
ask("texts", "airports",
    "SELECT iata, UPPER(city) AS city, LENGTH(name) AS n, name || ', ' || state AS place "
    "FROM airports WHERE name LIKE '%County%' AND state IN ('TX', 'WY', 'AK')")
ask("rounding and remainder", "lines",
    "SELECT origin, ROUND(distance / 7, 2) AS r, delay % 7 AS m, ABS(delay) AS a FROM lines "
    "WHERE distance BETWEEN 1000 AND 1100")
ask("distinct", "flights", "SELECT DISTINCT origin FROM flights")
ask("distinct pairs", "cars", 'SELECT DISTINCT "Cylinders", "Origin" FROM cars')

# ---- groups ----
ask("five aggregates", "flights",
    "SELECT origin, COUNT(*) AS n, SUM(delay) AS total, AVG(delay) AS mean, MIN(delay) AS low, "
    "MAX(delay) AS high FROM flights GROUP BY origin")
ask("the same from lines", "lines",
    "SELECT origin, COUNT(*) AS n, SUM(delay) AS total, AVG(delay) AS mean, MIN(delay) AS low, "
    "MAX(delay) AS high FROM lines GROUP BY origin")
ask("two keys", "weather",
    "SELECT location, weather, COUNT(*) AS n, AVG(wind) AS wind, SUM(precipitation) AS rain "
    "FROM weather GROUP BY location, weather")
ask("a computed key", "stocks",
    "SELECT symbol, SUBSTRING(date, LENGTH(date) - 3, 4) AS year, AVG(price) AS mean, "
    "MAX(price) - MIN(price) AS swing FROM stocks "
    "GROUP BY symbol, SUBSTRING(date, LENGTH(date) - 3, 4)")
ask("having", "flights",
    "SELECT destination, COUNT(*) AS n, AVG(delay) AS mean FROM flights GROUP BY destination "
    "HAVING COUNT(*) > 300 AND AVG(delay) > 5")
ask("a group of NULL", "cars",
    'SELECT "Horsepower" AS hp, COUNT(*) AS n, COUNT("Miles_per_Gallon") AS known FROM cars '
    'GROUP BY "Horsepower"')
ask("no groups at all", "gapminder",
    "SELECT COUNT(*) AS n, SUM(pop) AS pop, AVG(life_expect) AS life, MIN(country) AS first, "
    "MAX(country) AS last FROM gapminder")
ask("count distinct and filter", "flights",
    "SELECT origin, COUNT(DISTINCT destination) AS ways, "
    "COUNT(*) FILTER (WHERE delay > 60) AS late FROM flights GROUP BY origin")
ask("spread", "seattle",
    "SELECT weather, STDDEV(temp_max) AS sd, VAR_POP(temp_min) AS vp, MEDIAN(wind) AS mid, "
    "PERCENTILE_CONT(0.9, precipitation) AS p90 FROM seattle GROUP BY weather",
    "SELECT weather, STDDEV(temp_max) AS sd, VAR_POP(temp_min) AS vp, MEDIAN(wind) AS mid, "
    "QUANTILE_CONT(precipitation, 0.9) AS p90 FROM seattle GROUP BY weather")
ask("groups of groups", "flights",
    "SELECT r.n, COUNT(*) AS routes FROM (SELECT origin, destination, COUNT(*) AS n FROM flights "
    "GROUP BY origin, destination) AS r GROUP BY r.n")
ask("rollup", "weather",
    "SELECT location, weather, COUNT(*) AS n FROM weather GROUP BY ROLLUP (location, weather)")

# ---- joins ----
ask("inner join", "flights airports",
    "SELECT a.state, COUNT(*) AS n, SUM(f.distance) AS miles FROM flights AS f "
    "JOIN airports AS a ON f.origin = a.iata GROUP BY a.state")
ask("two joins of one set", "lines airports",
    "SELECT o.state AS from_state, d.state AS to_state, AVG(f.delay) AS delay FROM lines AS f "
    "JOIN airports AS o ON f.origin = o.iata JOIN airports AS d ON f.destination = d.iata "
    "WHERE o.state <> d.state GROUP BY o.state, d.state")
ask("left join and a residual", "seattle weather",
    "SELECT s.date, s.temp_max, w.temp_max AS other FROM seattle AS s "
    "LEFT JOIN weather AS w ON s.date = w.date AND w.location <> 'Seattle' AND w.temp_max > s.temp_max")
ask("full join", "stocks sp500",
    "SELECT s.symbol, s.date, i.date AS index_date, s.price / i.price AS ratio FROM "
    "(SELECT symbol, date, price FROM stocks WHERE symbol = 'GOOG') AS s "
    "FULL JOIN sp500 AS i ON s.date = i.date")
ask("self join on two keys", "gapminder",
    "SELECT a.country, a.year, b.pop - a.pop AS growth FROM gapminder AS a JOIN gapminder AS b "
    "ON a.country = b.country AND a.year + 5 = b.year WHERE b.pop < a.pop")
ask("semi join", "airports flights",
    "SELECT iata, city FROM airports WHERE iata IN (SELECT destination FROM flights WHERE delay > 200)")
ask("anti join", "airports flights",
    "SELECT COUNT(*) AS n FROM airports WHERE iata NOT IN (SELECT origin FROM flights)")
ask("exists", "gapminder",
    "SELECT DISTINCT g.country FROM gapminder AS g WHERE EXISTS (SELECT 1 AS one FROM gapminder AS h "
    "WHERE h.country = g.country AND h.life_expect < 40)")
ask("scalar subquery", "gapminder",
    "SELECT country, year FROM gapminder WHERE life_expect > (SELECT AVG(life_expect) FROM gapminder) + 12")

# ---- sets ----
ask("union all", "weather seattle",
    "SELECT date, wind FROM weather WHERE weather = 'snow' UNION ALL "
    "SELECT date, wind FROM seattle WHERE weather = 'snow'")
ask("union", "flights", "SELECT origin AS port FROM flights UNION SELECT destination AS port FROM flights")
ask("except", "flights", "SELECT origin AS port FROM flights EXCEPT SELECT destination AS port FROM flights")
ask("with", "disasters",
    'WITH big AS (SELECT "Entity" AS kind, "Year" AS y, "Deaths" AS deaths FROM disasters '
    "WHERE \"Deaths\" > 1000 AND \"Entity\" <> 'All natural disasters'), "
    "totals AS (SELECT kind, SUM(deaths) AS deaths FROM big GROUP BY kind) "
    "SELECT b.y, b.kind, b.deaths / t.deaths AS share FROM big AS b JOIN totals AS t ON b.kind = t.kind")

# ---- the newest row of each key: the set has no _ts, so rows count as they stand in the file ----
ask("latest by", "stocks", "SELECT symbol, date, price FROM stocks LATEST BY (symbol)",
    "SELECT symbol, date, price FROM (SELECT *, row_number() OVER () AS place FROM stocks) "
    "QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY place DESC) = 1")
ask("latest by two, grouped", "gapminder",
    "SELECT l.cluster, COUNT(*) AS n, SUM(l.pop) AS pop FROM (SELECT cluster, country, pop "
    "FROM gapminder WHERE year < 2000 LATEST BY (cluster, country)) AS l GROUP BY l.cluster",
    "SELECT cluster, COUNT(*) AS n, SUM(pop) AS pop FROM (SELECT * FROM (SELECT *, row_number() "
    "OVER () AS place FROM gapminder) WHERE year < 2000 QUALIFY row_number() OVER (PARTITION BY "
    "cluster, country ORDER BY place DESC) = 1) GROUP BY cluster")

# ---- JSON ----
QUAKES = "(SELECT unnest(features) AS f FROM quakes)"
ask("unnest and paths", "quakes",
    "SELECT f ->> 'id' AS id, TO_DOUBLE(f -> 'properties' -> 'mag') AS mag, "
    "TO_DOUBLE(f -> 'geometry' -> 'coordinates' -> 2) AS depth FROM quakes, UNNEST(features) AS f "
    "WHERE TO_DOUBLE(f -> 'properties' -> 'mag') >= 4.5",
    "SELECT f ->> 'id' AS id, CAST(f -> 'properties' -> 'mag' AS DOUBLE) AS mag, "
    "CAST(f -> 'geometry' -> 'coordinates' -> 2 AS DOUBLE) AS depth FROM " + QUAKES +
    " WHERE CAST(f -> 'properties' -> 'mag' AS DOUBLE) >= 4.5")
ask("groups over paths", "quakes",
    "SELECT f -> 'properties' ->> 'magType' AS kind, COUNT(*) AS n, SUM(f -> 'properties' -> 'mag') AS s, "
    "MAX(TO_DOUBLE(f -> 'properties' -> 'mag')) AS top FROM quakes, UNNEST(features) AS f "
    "GROUP BY f -> 'properties' ->> 'magType'",
    "SELECT f -> 'properties' ->> 'magType' AS kind, COUNT(*) AS n, "
    "SUM(CAST(f -> 'properties' -> 'mag' AS DOUBLE)) AS s, "
    "MAX(CAST(f -> 'properties' -> 'mag' AS DOUBLE)) AS top FROM " + QUAKES + " GROUP BY 1")
ask("elements that say nothing", "quakes",
    "SELECT COUNT(*) AS n, COUNT(f -> 'properties' ->> 'alert') AS alerts, "
    "COUNT(TO_LONG(f -> 'properties' ->> 'felt')) AS felt FROM quakes, UNNEST(features) AS f",
    "SELECT COUNT(*) AS n, COUNT(f -> 'properties' ->> 'alert') AS alerts, "
    "COUNT(TRY_CAST(f -> 'properties' ->> 'felt' AS BIGINT)) AS felt FROM " + QUAKES)


# ---- running ----

def write_lines(directory):
    """flights-5k as ndjson."""
    path = Path(directory) / "flights.ndjson"
    rows = json.loads((DATA / "flights-5k.json").read_text())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def path_of(relation, lines):
    file = SETS[relation][0]
    return lines if file == lines.name else DATA / file


def open_duckdb(lines):
    db = duckdb.connect()
    db.execute("SET preserve_insertion_order = true")
    for relation, (_, select) in SETS.items():
        text = select.format(str(path_of(relation, lines)).replace("'", "''"))
        db.execute(f"CREATE TABLE {relation} AS {text}")
    return db


def ask_sf(relations, sql, lines):
    command = [str(SF), "query", "--format", "ndjson"]
    for relation in relations:
        command += ["--from", f"{relation}={path_of(relation, lines)}"]
    done = subprocess.run([*command, sql], capture_output=True, timeout=CALL_SECONDS)
    if done.returncode != 0:
        raise ValueError(f"sf query ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def ask_duckdb(db, sql):
    answer = db.execute(sql)
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row)) for row in answer.fetchall()]


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) \
            or not isinstance(b, (int, float)):
        return type(a) is type(b) and a == b
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def order(row):
    """Exact values first, so that rows that differ in the last digit still stand side by side."""
    exact = [(name, repr(value)) for name, value in row.items() if not isinstance(value, (int, float))]
    numbers = [value for value in row.values() if isinstance(value, (int, float))]
    return exact, numbers


def difference(got, wanted):
    """None when both hold the same rows, else what is wrong."""
    if len(got) != len(wanted):
        return f"{len(got)} rows, {len(wanted)} expected"
    for a, b in zip(sorted(got, key=order), sorted(wanted, key=order)):
        if list(a) != list(b):
            return f"columns {list(a)}, expected {list(b)}"
        if not all(same(a[name], b[name]) for name in a):
            return f"got {a}, expected {b}"
    return None


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        lines = write_lines(directory)
        db = open_duckdb(lines)
        for name, relations, sql, duck in QUESTIONS:
            if wanted and name not in wanted:
                continue
            try:
                expected = ask_duckdb(db, duck)
                wrong = difference(ask_sf(relations, sql, lines), expected)
                if not expected:
                    wrong = "DuckDB finds no row: the question proves nothing"
            except (ValueError, subprocess.TimeoutExpired, duckdb.Error) as error:
                wrong = str(error)
            if wrong:
                print(f"{name}: {wrong}\n    {sql}")
            passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
