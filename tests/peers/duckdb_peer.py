"""Real data sets through `sf query` and through DuckDB: the same SQL over the same file must give the
same rows. Also cut into small epochs, and as the sum of all changes."""

import json
import math
import os
import subprocess
import sys

import duckdb

DATA = os.path.join(os.environ["SF_ROOT"], "tests/peers/node_modules/vega-datasets/data")
SF = os.path.join(os.environ["SF_BUILD"], "sf")

# name: (files by relation, SQL, DuckDB's SQL where it differs, more words for sf query)
CHECKS = {
    "flights: groups over 200,000 rows": (
        {"f": "flights-200k.json"},
        "SELECT distance, COUNT(*) AS n, SUM(delay) AS s, AVG(delay) AS a, MIN(delay) AS lo, "
        "MAX(delay) AS hi FROM f GROUP BY distance",
        None, []),
    "flights: one row for all": (
        {"f": "flights-200k.json"},
        "SELECT COUNT(*) AS n, SUM(distance) AS s, AVG(time) AS t, MAX(time) AS m, "
        "SUM(delay * distance) AS p FROM f WHERE delay > 0",
        None, []),
    "flights: a filter with arithmetic": (
        {"f": "flights-200k.json"},
        "SELECT delay, distance, delay / distance AS r, distance % 7 AS m, delay + distance AS s "
        "FROM f WHERE distance > 4000 AND delay BETWEEN -5 AND 30 AND NOT delay = 0",
        None, []),
    "flights: bands through CASE": (
        {"f": "flights-200k.json"},
        "SELECT CASE WHEN delay <= 0 THEN 'early' WHEN delay < 60 THEN 'late' ELSE 'very late' END "
        "AS band, COUNT(*) AS n, AVG(distance) AS d FROM f GROUP BY "
        "CASE WHEN delay <= 0 THEN 'early' WHEN delay < 60 THEN 'late' ELSE 'very late' END",
        None, []),
    "flights: statistics": (
        {"f": "flights-20k.json"},
        "SELECT origin, COUNT(DISTINCT destination) AS d, STDDEV_SAMP(delay) AS s, "
        "VAR_POP(distance) AS v, MEDIAN(delay) AS m FROM f GROUP BY origin",
        None, []),
    "flights: pairs of airports there and back": (
        {"f": "flights-5k.json"},
        "SELECT a.origin AS x, a.destination AS y, COUNT(*) AS n, SUM(a.delay - b.delay) AS d "
        "FROM f a JOIN f b ON a.origin = b.destination AND a.destination = b.origin "
        "GROUP BY a.origin, a.destination",
        None, []),
    "weather: groups by place and kind": (
        {"w": "weather.csv"},
        "SELECT location, weather, COUNT(*) AS n, SUM(precipitation) AS p, AVG(temp_max) AS t, "
        "MIN(wind) AS lo, MAX(date) AS last FROM w GROUP BY location, weather",
        "SELECT location, weather, COUNT(*) AS n, SUM(precipitation) AS p, AVG(temp_max) AS t, "
        "MIN(wind) AS lo, strftime(MAX(date), '%Y-%m-%d') AS last FROM w GROUP BY location, weather",
        []),
    "weather: the last day of each place": (
        {"w": "weather.csv"},
        "SELECT location, temp_max, weather FROM w LATEST BY (location)",
        "SELECT location, temp_max, weather FROM w "
        "QUALIFY row_number() OVER (PARTITION BY location ORDER BY date DESC) = 1",
        ["--time", "w=date"]),
    "weather: windows of a week": (
        {"w": "seattle-weather.csv"},
        "SELECT weather, COUNT(*) AS n, SUM(precipitation) AS p, MAX(temp_max) AS t FROM w "
        "GROUP BY weather WINDOW TUMBLING(SIZE 168 HOURS) EMIT FINAL",
        "SELECT weather, COUNT(*) AS n, SUM(precipitation) AS p, MAX(temp_max) AS t, "
        "epoch_ms(date) // 604800000 * 604800000 AS window_start, "
        "epoch_ms(date) // 604800000 * 604800000 + 604800000 AS window_end FROM w "
        "GROUP BY weather, epoch_ms(date) // 604800000",
        ["--time", "w=date"]),
    "weather: two places on the same day": (
        {"w": "weather.csv"},
        "SELECT s.weather AS a, n.weather AS b, COUNT(*) AS days, AVG(n.temp_max - s.temp_max) AS d "
        "FROM w s JOIN w n ON s.date = n.date WHERE s.location = 'Seattle' "
        "AND n.location = 'New York' GROUP BY s.weather, n.weather",
        None, []),
    "stocks: text in front of a number": (
        {"s": "stocks.csv"},
        "SELECT symbol, COUNT(*) AS n, AVG(price) AS a, MIN(price) AS lo, MAX(price) AS hi FROM s "
        "WHERE UPPER(symbol) <> 'IBM' GROUP BY symbol",
        None, []),
    "stocks: months that closed above the average": (
        {"s": "stocks.csv"},
        "SELECT s.symbol AS symbol, COUNT(*) AS n FROM s JOIN "
        "(SELECT symbol, AVG(price) AS a FROM s GROUP BY symbol) m ON s.symbol = m.symbol "
        "WHERE s.price > m.a GROUP BY s.symbol",
        None, []),
    "earthquakes: an array inside one document": (
        {"e": "earthquakes.json"},
        "SELECT q -> 'properties' ->> 'magType' AS kind, COUNT(*) AS n, "
        "MAX(TO_DOUBLE(q -> 'properties' -> 'mag')) AS m, "
        "MIN(TO_DOUBLE(q -> 'geometry' -> 'coordinates' -> 2)) AS depth "
        "FROM e, UNNEST(e.features) AS q GROUP BY q -> 'properties' ->> 'magType'",
        "SELECT q.properties.magType AS kind, COUNT(*) AS n, MAX(q.properties.mag) AS m, "
        "MIN(q.geometry.coordinates[3]) AS depth FROM (SELECT unnest(features) AS q FROM e) "
        "GROUP BY 1",
        []),
    "movies: NULLs everywhere": (
        {"m": "movies.json"},
        'SELECT "Major Genre" AS genre, COUNT(*) AS n, COUNT("Rotten Tomatoes Rating") AS rated, '
        'AVG("IMDB Rating") AS imdb, SUM("US Gross") AS gross, MAX("Production Budget") AS budget '
        'FROM m GROUP BY "Major Genre"',
        None, []),
    "airports: text, coordinates, a condition on both": (
        {"a": "airports.csv"},
        "SELECT state, COUNT(*) AS n, AVG(latitude) AS la, MIN(longitude) AS lo, MAX(city) AS c "
        "FROM a WHERE latitude > 30 OR state IS NULL GROUP BY state",
        None, []),
    "zip codes: text that looks like numbers": (
        {"z": "zipcodes.csv"},
        "SELECT zip_code, city FROM z WHERE zip_code >= '99900' OR zip_code < '00600'",
        "SELECT zip_code, city FROM z WHERE zip_code >= '99900' OR zip_code < '00600'",
        ["--schema", "z=zip_code:String,latitude:Double,longitude:Double,city:String,state:String,"
         "county:String"]),
    "bird strikes: columns with blanks in their names": (
        {"b": "birdstrikes.csv"},
        'SELECT "Origin State" AS s, "Wildlife Size" AS w, COUNT(*) AS n, SUM("Cost Total $") AS c '
        'FROM b WHERE "Effect Amount of damage" <> \'None\' GROUP BY "Origin State", "Wildlife Size"',
        None, []),
    "index: whole numbers beyond 32 bits": (
        {"p": "sp500-2000.csv"},
        "SELECT COUNT(*) AS n, SUM(volume) AS v, MAX(high - low) AS spread, AVG(close) AS c FROM p",
        None, []),
}


def relation(path):
    if path.endswith(".csv"):
        options = ", types={'zip_code': 'VARCHAR'}" if "zipcodes" in path else ""
        return f"read_csv_auto('{DATA}/{path}'{options})"
    return f"read_json_auto('{DATA}/{path}', maximum_object_size=100000000)"


def ask_duckdb(files, sql):
    connection = duckdb.connect()
    for name, path in files.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {relation(path)}")
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def ask_sf(files, sql, words):
    command = [SF, "query", "--format", "ndjson", *words]
    for name, path in files.items():
        command += ["--from", f"{name}={DATA}/{path}"]
    run = subprocess.run([*command, sql], capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise RuntimeError(f"sf query ended with {run.returncode}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def fold(changes):
    """The rows that are left when all changes are added up."""
    count = {}
    for change in changes:
        weight = change.pop("_weight")
        change.pop("_epoch")
        key = json.dumps(change)
        count[key] = count.get(key, 0) + weight
    if any(n < 0 for n in count.values()):
        raise RuntimeError("a row went more often than it came")
    return [json.loads(key) for key, n in count.items() for _ in range(n)]


def plain(value):
    """A value as both sides have it."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    return float(value) if isinstance(value, float) or abs(value) > 2**53 else int(value)


def close(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return (a is None) == (b is None) and (
            a is None or math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-9)
        )
    return type(a) is type(b) and a == b


def sort_key(row):
    def part(value):
        if value is None:
            return (0, "", 0.0)
        if isinstance(value, str):
            return (1, value, 0.0)
        return (2, "", round(float(value), 6))

    return [part(row[name]) for name in sorted(row)]


def compare(got, wanted):
    got = sorted(({k: plain(v) for k, v in row.items()} for row in got), key=sort_key)
    wanted = sorted(({k: plain(v) for k, v in row.items()} for row in wanted), key=sort_key)
    if len(got) != len(wanted):
        return f"{len(got)} rows, DuckDB has {len(wanted)}"
    for mine, theirs in zip(got, wanted):
        if sorted(mine) != sorted(theirs) or not all(close(mine[k], theirs[k]) for k in mine):
            return f"{mine} where DuckDB has {theirs}"
    return None if got else "no rows at all: the check checks nothing"


def check(name, files, sql, their_sql, words):
    wanted = ask_duckdb(files, their_sql or sql)
    results = {"at once": lambda: ask_sf(files, sql, words)}
    if len(wanted) < 5000 and "200k" not in str(files):
        results["in epochs of 97 rows"] = lambda: ask_sf(files, sql, [*words, "--epoch-rows", "97"])
        results["as changes"] = lambda: fold(
            ask_sf(files, sql, [*words, "--changes", "--epoch-rows", "500"]))
    for way, ask in results.items():
        problem = compare(ask(), wanted)
        if problem:
            print(f"{name}, {way}: {problem}")
            return False
    return True


def main():
    passed = failed = 0
    for name, (files, sql, their_sql, words) in CHECKS.items():
        try:
            ok = check(name, files, sql, their_sql, words)
        except Exception as error:  # one broken check does not hide the others
            print(f"{name}: {error}")
            ok = False
        passed, failed = passed + ok, failed + (not ok)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
