"""The usual way, as a peer: COPY (FORMAT binary) to a client, and numpy's least squares there.

Prints the seconds from start to coefficients, imports left out, those of them that the copy took, rows and features.
Usage: psql -c "COPY t TO STDOUT (FORMAT binary)" | python3 peer_numpy.py
"""
import time

import numpy as np

from copied import as_arrays, read_rows

started = time.perf_counter()
data = read_rows()
read = time.perf_counter()
x, y = as_arrays(data)
coef = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
ended = time.perf_counter()
print(f"{ended - started:.4f} {read - started:.4f} {len(x)} {x.shape[1]}")
assert np.isfinite(coef).all()
