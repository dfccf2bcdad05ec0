"""Reads rows of float8 columns, the response last, or of arrays, from psql's COPY (FORMAT binary), on standard input or
from a psql of its own."""
import subprocess
import sys

import numpy as np

HEADER = 19  # signature, flags, length of the extension


def read_rows():
    """Returns all bytes as soon as they have come, so that reading can be timed alone."""
    return sys.stdin.buffer.read()


def copy_out(table):
    """Returns the table's bytes, from psql with the environment's settings."""
    return subprocess.run(["psql", "-X", "-q", "-c", f"COPY {table} TO STDOUT (FORMAT binary)"], check=True,
                          stdout=subprocess.PIPE).stdout


def as_arrays(data):
    """Returns x (rows x features) and y, both float64."""
    ncols = int.from_bytes(data[HEADER:HEADER + 2], "big")
    row = np.dtype([("n", ">i2")] + [(f"c{i}", [("length", ">i4"), ("value", ">f8")]) for i in range(ncols)])
    rows = np.frombuffer(data, dtype=row, count=(len(data) - HEADER - 2) // row.itemsize, offset=HEADER)
    x = np.empty((len(rows), ncols - 1))
    for i in range(ncols - 1):
        x[:, i] = rows[f"c{i}"]["value"]
    return x, rows[f"c{ncols - 1}"]["value"].astype(float)


def array_columns(data, types):
    """Returns a matrix (rows x elements) per column. types: numpy's types of the elements, such as "f4". Arrays of a
    column must have one length, and no NULLs."""
    fields, at = [("n", ">i2")], HEADER + 2
    for c, element in enumerate(types):
        size = np.dtype(element).itemsize
        # the field's length, dimensions, flags and the elements' type come before
        n = int.from_bytes(data[at + 16:at + 20], "big")
        fields += [(f"header{c}", ">i4", 6), (f"c{c}", [("length", ">i4"), ("value", ">" + element)], n)]
        at += 24 + n * (4 + size)
    row = np.dtype(fields)
    rows = np.frombuffer(data, dtype=row, count=(len(data) - HEADER - 2) // row.itemsize, offset=HEADER)
    assert len(data) == HEADER + len(rows) * row.itemsize + 2
    assert all((rows[f"header{c}"] == rows[f"header{c}"][0]).all() for c in range(len(types)))
    return [rows[f"c{c}"]["value"].astype(element) for c, element in enumerate(types)]
