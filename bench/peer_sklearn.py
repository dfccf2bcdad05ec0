"""The usual way, as a peer: COPY (FORMAT binary) to a client, and scikit-learn's logistic regression there, without penalty, by its
fastest solver for few features.

Prints the seconds from start to coefficients, imports left out, those of them that the copy took, rows and features.
Usage: psql -c "COPY t TO STDOUT (FORMAT binary)" | python3 peer_sklearn.py
"""
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from copied import as_arrays, read_rows

started = time.perf_counter()
data = read_rows()
read = time.perf_counter()
x, y = as_arrays(data)
fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=100).fit(x, y)
ended = time.perf_counter()
print(f"{ended - started:.4f} {read - started:.4f} {len(x)} {x.shape[1]}")
assert np.isfinite(fit.coef_).all()
