"""Compares linear regression with DuckDB: the same rows in a table in its own memory, and the sums of products of
normal equations there, in one thread and in all; and with COPY and numpy, the usual way.

Rows come by COPY (FORMAT binary) from gpureg_bench, through numpy; loading them into DuckDB isn't counted. Prints a
JSON line per statement, with medians of five runs after an untimed one. Sums must agree with numpy's to nine digits.
Usage: peer_duckdb.py [RESULTS]; RESULTS: the JSON lines of this run so far, for the ratio to gpu_ols_fit on the CPU.
"""
import json
import os
import statistics
import sys

import numpy as np

from copied import as_arrays, copy_out
from peer_fits import emit, fit_seconds, numpy_lstsq, short, timed, why_not

NRUNS = 5
PRODUCTS = "sums of all 54 products and columns"
TIMES_OURS = 1  # target for the products in one thread: ours reads pages, and has twice the digits


def statements(columns):
    """Returns name, expressions to select, and whether these are the products."""
    sums = [f"sum({c})" for c in columns]
    products = [f"sum({a} * {b})" for i, a in enumerate(columns) for b in columns[i:]]
    return [(f"sums of {len(columns)} columns", sums, False), (PRODUCTS, products + sums, True)]


def expected(values, with_products):
    """Returns the statement's expected result for the rows in a matrix."""
    sums = values.sum(axis=0)
    if not with_products:
        return sums
    upper = np.triu_indices(values.shape[1])
    return np.append((values.T @ values)[upper], sums)


def loaded(columns, values):
    """Returns a connection with the table "loaded" in its memory, and the seconds that loading took."""
    import duckdb
    connection = duckdb.connect(":memory:")
    connection.register("given", dict(zip(columns, np.ascontiguousarray(values.T))))
    seconds, _ = timed(connection.execute, "CREATE TABLE loaded AS SELECT * FROM given")
    connection.unregister("given")
    return connection, seconds


def run(connection, query, nruns):
    runs = [timed(lambda: connection.execute(query).fetchone()) for _ in range(nruns + 1)]
    return [seconds for seconds, _ in runs[1:]], runs[-1][1]


def beside(fields, fit):
    """Returns the fields with the ratio to our fit, if this run has one."""
    if fit is None:
        return fields
    return fields | {"ours": "gpu_ols_fit, cpu", "ours_seconds": fit, "times_ours": short(fields["seconds"] / fit)}


def peer_duckdb(x, y, fit):
    import duckdb
    columns = [f"x{i + 1}" for i in range(x.shape[1])] + ["y"]
    values = np.column_stack([x, y])
    connection, load_seconds = loaded(columns, values)
    for threads in sorted({1, os.cpu_count()}):
        connection.execute(f"SET threads = {threads}")
        for name, what, is_products in statements(columns):
            times, sums = run(connection, f"SELECT {', '.join(what)} FROM loaded", NRUNS)
            if not np.allclose(sums, expected(values, is_products), rtol=1e-9, atol=0):
                raise ArithmeticError("its sums are not numpy's")
            fields = {"bench": f"DuckDB's {name}, {threads} thread{'s' if threads > 1 else ''}", "rows": len(x),
                      "features": x.shape[1], "threads": threads, "version": duckdb.__version__,
                      "load_seconds": short(load_seconds), "seconds": short(statistics.median(times)),
                      "fastest": short(min(times)), "slowest": short(max(times)), "runs": NRUNS}
            fields = beside(fields, fit)
            if is_products and threads == 1 and fit is not None:
                fields |= {"times_ours_at_least": TIMES_OURS}
            emit(section="scan", **fields)


def peer_numpy(x, y, copy_seconds, fit):
    nruns = 1 if len(x) >= 2000000 else NRUNS
    seconds, _ = fit_seconds(numpy_lstsq, x, y, nruns, None)
    emit(section="scan", **beside(
        {"bench": "COPY and numpy.linalg.lstsq", "ran_on": "cpu", "rows": len(x), "features": x.shape[1],
         "seconds": short(copy_seconds + seconds), "copy_seconds": short(copy_seconds), "fit_seconds": short(seconds),
         "runs": nruns}, fit))


def our_fit(path, nrows):
    """Returns our seconds of gpu_ols_fit on the CPU; None if this run hasn't measured it."""
    if not path:
        return None
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.startswith("{")]
    found = [r["seconds"] for r in records if "seconds" in r and
             (r.get("section"), r["bench"], r.get("device"), r["rows"]) == ("scan", "gpu_ols_fit", "cpu", nrows)]
    return found[0] if found else None


def main():
    copy_seconds, (x, y) = timed(lambda: as_arrays(copy_out("gpureg_bench")))
    fit = our_fit(sys.argv[1] if len(sys.argv) > 1 else None, len(x))
    for name, peer, more in (("DuckDB", peer_duckdb, []), ("COPY and numpy.linalg.lstsq", peer_numpy, [copy_seconds])):
        try:
            peer(x, y, *more, fit)
        except Exception as error:  # a package may be missing, or fail, in any way
            emit(section="scan", bench=name, not_run=why_not(error))


if __name__ == "__main__":
    main()
