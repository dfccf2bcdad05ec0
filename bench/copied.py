"""Rows of float8 columns, the response last, from psql's COPY (FORMAT binary) on standard input."""
import sys

import numpy as np

HEADER = 19  # signature, flags, length of the extension


def read_rows():
    """Returns the bytes as soon as they are here, for the clock."""
    return sys.stdin.buffer.read()


def as_arrays(data):
    """x (rows x features) and y, both float64."""
    ncols = int.from_bytes(data[HEADER:HEADER + 2], "big")
    row = np.dtype([("n", ">i2")] + [(f"c{i}", [("length", ">i4"), ("value", ">f8")]) for i in range(ncols)])
    rows = np.frombuffer(data, dtype=row, count=(len(data) - HEADER - 2) // row.itemsize, offset=HEADER)
    x = np.empty((len(rows), ncols - 1))
    for i in range(ncols - 1):
        x[:, i] = rows[f"c{i}"]["value"]
    return x, rows[f"c{ncols - 1}"]["value"].astype(float)
