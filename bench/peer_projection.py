"""Times the usual way as a peer: COPY to a client, and scikit-learn's random projection or feature hashing there.

Prints the seconds from start to results without imports, those of the copy, of parsing, fitting and transforming, and
the number of rows.
Usage: psql -c "COPY (SELECT v FROM t) TO STDOUT (FORMAT binary)" | python3 peer_projection.py dense
       psql -c "COPY (SELECT idx, val FROM t) TO STDOUT (FORMAT binary)" |
           python3 peer_projection.py sparse NFEATURES [DENSITY]
       psql -c "COPY (SELECT array_to_string(tokens, ' ') FROM t) TO STDOUT" | python3 peer_projection.py hash
The arrays of a column must have the same length and no NULLs. Tokens come as lines, as bytes.split() is faster than
reading a binary text[], whose elements have various lengths.
"""
import sys
import time

import numpy as np
import scipy.sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.random_projection import SparseRandomProjection

from copied import array_columns, read_rows

K, HASHED = 256, 4096


def parse_dense(data):
    return array_columns(data, ["f4"])[0]


def parse_sparse(data, nfeatures):
    idx, val = array_columns(data, ["i8", "f4"])
    nrows, n = idx.shape
    return scipy.sparse.csr_array((val.ravel(), idx.astype(np.int32).ravel(),
                                   np.arange(0, nrows * n + 1, n, dtype=np.int32)),
                                  shape=(nrows, nfeatures))


def parse_tokens(data):
    return [line.split(b" ") for line in data.splitlines()]


kind = sys.argv[1]
started = time.perf_counter()
data = read_rows()
read = time.perf_counter()
if kind == "hash":
    x = parse_tokens(data)
    model = FeatureHasher(n_features=HASHED, input_type="string")
else:
    density = float(sys.argv[3]) if len(sys.argv) > 3 else "auto"
    x = parse_dense(data) if kind == "dense" else parse_sparse(data, int(sys.argv[2]))
    model = SparseRandomProjection(n_components=K, random_state=0, density=density)
nrows = len(x) if kind == "hash" else x.shape[0]
parsed = time.perf_counter()
model.fit(x)
fitted = time.perf_counter()
y = model.transform(x)
ended = time.perf_counter()
print(f"{ended - started:.4f} {read - started:.4f} {parsed - read:.4f} {fitted - parsed:.4f} {ended - fitted:.4f} "
      f"{nrows}")
assert y.shape == (nrows, HASHED if kind == "hash" else K)
