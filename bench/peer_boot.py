"""Compares a bootstrap of a linear regression, 1,000 replicates of 100,000 rows x 8, with a loop in numpy, in one run
on the server that PGHOST names, where gpureg must be installed.

peer_boot.py [ROWS [REPS]]: prints a JSON line per way: seconds for 1,000 replicates, elapsed and, for numpy, of the
processor. numpy's are extrapolated from REPS / 50 replicates; its rows are in memory, and it has OMP_NUM_THREADS
threads. Standard errors must agree within a fifth.
"""
import json
import subprocess
import sys
import tempfile
import time

import numpy as np

COLUMNS = "y, x1, x2, x3, x4, x5, x6, x7, x8"
BOOT = "gpu_ols_boot('SELECT %s, id FROM gpureg_bench_boot', %d, 'id')"


def sql(*statements):
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
    for statement in statements:
        command += ["-c", statement]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def make_table(nrows):
    sql("DROP TABLE IF EXISTS gpureg_bench_boot",
        f"""CREATE TABLE gpureg_bench_boot AS SELECT i AS id, r[1] AS x1, r[2] AS x2, r[3] AS x3, r[4] AS x4,
            r[5] AS x5, r[6] AS x6, r[7] AS x7, r[8] AS x8, r[1] + r[2] - r[3] + r[9] AS y
            FROM generate_series(1, {nrows}) i,
            LATERAL (SELECT ARRAY(SELECT random() FROM generate_series(1, 9) WHERE i > 0) AS r) t""",
        "VACUUM ANALYZE gpureg_bench_boot")
    with tempfile.NamedTemporaryFile(suffix=".csv") as f:
        sql(f"\\copy (SELECT {COLUMNS} FROM gpureg_bench_boot) TO '{f.name}' CSV")
        rows = np.loadtxt(f.name, delimiter=",")
    return np.column_stack([np.ones(len(rows)), rows[:, 1:]]), rows[:, 0]


def by_lstsq(x, y, rng):
    rows = rng.integers(0, len(y), len(y))
    return np.linalg.lstsq(x[rows], y[rows], rcond=None)[0]


def by_normal_equations(x, y, rng):
    rows = rng.integers(0, len(y), len(y))
    x, y = x[rows], y[rows]
    return np.linalg.solve(x.T @ x, x.T @ y)


def by_poisson_weights(x, y, rng):
    weighted = x * rng.poisson(1, len(y))[:, None]
    return np.linalg.solve(weighted.T @ x, weighted.T @ y)


def main(nrows=100000, reps=1000):
    x, y = make_table(nrows)
    best, errors = None, None
    for turn in range(3):
        begin = time.perf_counter()
        lines = sql(f"SELECT std_error FROM {BOOT % (COLUMNS, reps)}")
        elapsed = time.perf_counter() - begin
        errors = [float(line) for line in lines]
        best = elapsed if best is None else min(best, elapsed)
    print(json.dumps({"way": "gpu_ols_boot", "seconds": best * 1000 / reps}))
    for way in (by_lstsq, by_normal_equations, by_poisson_weights):
        rng = np.random.default_rng(1)
        begin, processor = time.perf_counter(), time.process_time()
        replicates = [way(x, y, rng) for _ in range(max(reps // 50, 20))]
        share = 1000 / len(replicates)
        elapsed, processor = (time.perf_counter() - begin) * share, (time.process_time() - processor) * share
        spread = np.std(replicates, axis=0, ddof=1)
        assert np.median(np.abs(spread / errors - 1)) < 0.2, (spread, errors)
        print(json.dumps({"way": "numpy " + way.__name__, "seconds": elapsed, "processor_seconds": processor,
                          "times": elapsed / (best * 1000 / reps)}))
    sql("DROP TABLE gpureg_bench_boot")


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:]])
