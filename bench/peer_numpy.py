"""The usual way, as a peer: COPY (FORMAT binary) to a client, and numpy's least squares there.

Reads rows of float8 columns, the response last, from psql's COPY on standard input, and prints the seconds from start to
coefficients, imports left out. Usage: psql -c "COPY t TO STDOUT (FORMAT binary)" | python3 peer_numpy.py
"""
import sys
import time

import numpy as np

started = time.perf_counter()
data = sys.stdin.buffer.read()
read = time.perf_counter()
HEADER = 19  # signature, flags, length of the extension
ncols = int.from_bytes(data[HEADER:HEADER + 2], "big")
row = np.dtype([("n", ">i2")] + [(f"c{i}", [("length", ">i4"), ("value", ">f8")]) for i in range(ncols)])
rows = np.frombuffer(data, dtype=row, count=(len(data) - HEADER - 2) // row.itemsize, offset=HEADER)
x = np.empty((len(rows), ncols))
x[:, 0] = 1
for i in range(ncols - 1):
    x[:, i + 1] = rows[f"c{i}"]["value"]
y = rows[f"c{ncols - 1}"]["value"].astype(float)
coef = np.linalg.lstsq(x, y, rcond=None)[0]
ended = time.perf_counter()
print(f"{ended - started:.4f} {read - started:.4f} {len(rows)} {ncols - 1}")
assert np.isfinite(coef).all()
