"""The engine library and pyarrow exchange data through the Arrow C interfaces."""

import ctypes
import datetime
import decimal
import os
import sys

import pyarrow as pa

NULL, STRING, DOUBLE, LONG, BOOL, TIMESTAMP, JSON = range(7)
OK, SQL, INVALID, NOT_FOUND, EXISTS, LIMIT, FAILED = range(7)


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_uint), ("column", ctypes.c_uint),
                ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


class Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int)]


class Options(ctypes.Structure):
    _fields_ = [("lateness_ms", ctypes.c_int64), ("takes_retractions", ctypes.c_bool)]


def load():
    library = ctypes.CDLL(os.environ["SF_LIBRARY"])
    library.sf_world_new.restype = ctypes.c_void_p
    return library


class World:
    def __init__(self, library, fields, table):
        self.library = library
        self.error = Error()
        self.world = ctypes.c_void_p(library.sf_world_new())
        declared = (Field * len(fields))(*[Field(n.encode(), t) for n, t in fields])
        options = Options(0, True)
        self.must(library.sf_world_add_source(self.world, b"s", declared, len(fields),
                                              ctypes.byref(options), ctypes.byref(self.error)))
        self.must(library.sf_world_add_table(self.world, b"t", table.encode(),
                                             ctypes.byref(self.error)))

    def must(self, status):
        if status != OK:
            raise RuntimeError(self.error.message.decode())

    def push(self, batch):
        """The status and how many values did not fit."""
        array, schema = ctypes.create_string_buffer(80), ctypes.create_string_buffer(72)
        batch._export_to_c(ctypes.addressof(array), ctypes.addressof(schema))
        misfits = ctypes.c_uint64()
        status = self.library.sf_world_push_arrow(self.world, b"s", array, schema,
                                                  ctypes.byref(misfits), ctypes.byref(self.error))
        return status, misfits.value

    def rows(self):
        self.must(self.library.sf_world_run(self.world, None, None, ctypes.byref(self.error)))
        stream = ctypes.create_string_buffer(40)
        self.must(self.library.sf_world_read_arrow(self.world, b"t", stream,
                                                   ctypes.byref(self.error)))
        reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        return reader.read_all()

    def close(self):
        self.library.sf_world_free(self.world)


ALL = [("s", STRING), ("d", DOUBLE), ("l", LONG), ("b", BOOL), ("t", TIMESTAMP), ("j", JSON)]
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)


def sorted_rows(table):
    return sorted(table.to_pylist(), key=str)


def round_trip(library):
    rows = [
        {"s": "short", "d": 0.5, "l": 2**62, "b": True, "t": NOON, "j": '{"a":1}'},
        {"s": "a text that is longer than twelve bytes, with ü", "d": None, "l": -5, "b": False,
         "t": None, "j": None},
        {"s": None, "d": -1e300, "l": None, "b": None, "t": NOON, "j": "[]"},
    ]
    schema = pa.schema([("s", pa.string()), ("d", pa.float64()), ("l", pa.int64()),
                        ("b", pa.bool_()), ("t", pa.timestamp("ms", "UTC")), ("j", pa.string())])
    world = World(library, ALL, "SELECT * FROM s")
    assert world.push(pa.RecordBatch.from_pylist(rows, schema)) == (OK, 0), world.error.message
    got = world.rows()
    assert sorted_rows(got.cast(schema)) == sorted(rows, key=str), got.to_pylist()
    world.close()


LAYOUTS = {
    "large text": pa.array(["x", None, "a much longer text"], pa.large_string()),
    "text views": pa.array(["x", None, "a much longer text"], pa.string_view()),
    "a dictionary": pa.array(["x", None, "a much longer text"]).dictionary_encode(),
    "a dictionary of large text":
        pa.array(["x", None, "a much longer text"], pa.large_string()).dictionary_encode(),
}


def texts(library):
    for name, array in LAYOUTS.items():
        world = World(library, [("s", STRING)], "SELECT s FROM s")
        batch = pa.RecordBatch.from_arrays([array], ["s"])
        assert world.push(batch) == (OK, 0), (name, world.error.message)
        assert world.push(batch.slice(1, 2)) == (OK, 0), name
        got = sorted(world.rows()["s"].to_pylist(), key=str)
        wanted = ["x", None, "a much longer text", None, "a much longer text"]
        assert got == sorted(wanted, key=str), (name, got)
        world.close()


NUMBERS = {
    pa.int8(): [-128, None, 127], pa.int16(): [-32768, None, 32767],
    pa.int32(): [-2**31, None, 2**31 - 1], pa.uint8(): [0, None, 255],
    pa.uint16(): [0, None, 65535], pa.uint32(): [0, None, 2**32 - 1],
    pa.float32(): [0.0, None, 4096.0], pa.float64(): [-3.0, None, 2.0**53],
    pa.uint64(): [0, None, 2**63 - 1],
}


def numbers(library):
    for kind, values in NUMBERS.items():
        world = World(library, [("l", LONG), ("d", DOUBLE)], "SELECT l, d FROM s")
        array = pa.array(values, kind)
        status = world.push(pa.RecordBatch.from_arrays([array, array], ["d", "l"]))
        assert status == (OK, 0), (kind, world.error.message)
        got = {(row["l"], row["d"]) for row in world.rows().to_pylist()}
        assert got == {(None if v is None else int(v), None if v is None else float(v))
                       for v in values}, (kind, got)
        world.close()


def times(library):
    day = datetime.date(2024, 2, 29)
    arrays = [pa.array([NOON], pa.timestamp(unit, zone)) for unit in ("s", "ms", "us", "ns")
              for zone in ("UTC", "Europe/Rome")]
    for array in arrays:
        world = World(library, [("t", TIMESTAMP)], "SELECT t FROM s")
        assert world.push(pa.RecordBatch.from_arrays([array], ["t"])) == (OK, 0)
        assert world.rows()["t"].to_pylist() == [NOON], array.type
        world.close()
    for kind in (pa.date32(), pa.date64()):
        world = World(library, [("t", TIMESTAMP)], "SELECT t FROM s")
        assert world.push(pa.RecordBatch.from_arrays([pa.array([day], kind)], ["t"])) == (OK, 0)
        assert world.rows()["t"].to_pylist() == [NOON.replace(hour=0)], kind
        world.close()


def misfits(library):
    world = World(library, [("l", LONG), ("d", DOUBLE), ("j", JSON)],
                  "SELECT COUNT(*) AS n, COUNT(l) AS l, COUNT(d) AS d, COUNT(j) AS j FROM s")
    batch = pa.RecordBatch.from_arrays(
        [pa.array([2**64 - 1, 1], pa.uint64()), pa.array([float("nan"), float("inf")]),
         pa.array(["{", "1"])], ["l", "d", "j"])
    assert world.push(batch) == (OK, 4)
    assert world.rows().to_pylist() == [{"n": 2, "l": 1, "d": 0, "j": 1}]
    world.close()


def weights(library):
    world = World(library, [("k", STRING)], "SELECT k, COUNT(*) AS n FROM s GROUP BY k")
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["a", "b", "a"]), pa.array([3, 1, -1]), pa.array([1, 2, 1])],
        ["k", "_weight", "_ts"])
    assert world.push(batch) == (OK, 0), world.error.message
    assert sorted_rows(world.rows()) == [{"k": "a", "n": 2}, {"k": "b", "n": 1}]
    world.close()


def refusals(library):
    world = World(library, [("l", LONG)], "SELECT COUNT(*) AS n FROM s")
    for array in [pa.array(["1"]), pa.array([True]), pa.array([[1]]), pa.array([b"1"]),
                  pa.array([decimal.Decimal("1.5")]), pa.array([NOON])]:
        status, _ = world.push(pa.RecordBatch.from_arrays([array], ["l"]))
        assert status == INVALID and b'"l"' in world.error.message, array.type
    assert world.rows().to_pylist() == [{"n": 0}], "nothing of a refused batch arrives"
    world.close()


def many(library):
    count = 200_000
    world = World(library, [("k", LONG), ("s", STRING)], "SELECT k, s FROM s")
    array = pa.array(range(count))
    text = pa.array([f"row number {i}" for i in range(count)])
    assert world.push(pa.RecordBatch.from_arrays([array, text], ["k", "s"])) == (OK, 0)
    got = world.rows().sort_by("k")
    assert got.num_rows == count
    assert got["k"].to_pylist() == list(range(count)) and got["s"].to_pylist() == text.to_pylist()
    world.close()


def main():
    library = load()
    passed = failed = 0
    for test in (round_trip, texts, numbers, times, misfits, weights, refusals, many):
        try:
            test(library)
            passed += 1
        except Exception as error:  # one broken check does not hide the others
            print(f"{test.__name__}: {type(error).__name__}: {error}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
