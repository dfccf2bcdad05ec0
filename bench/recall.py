#!/usr/bin/env python3
"""Computes recall@10 of signs of random projections, by the Hamming distance, of the exact neighbours by the cosine.

    python3 bench/recall.py    on the server that PGHOST names, in which gpureg is installed; needs scikit-learn

The vectors are scikit-learn's digits (1,797 images of 8 x 8), which the package ships, less their mean; 300 of them are
the queries. Recall is the share of a vector's ten nearest others that are among its ten nearest by bits, with ties
broken by place, for k = 64, 128 and 256 bits over ten seeds: for gpu_project_bits (a rotation), for the signs of
gpu_project (the sparse law, at its own density and at 1), and, if there are k coordinates, for their signs, like
pgvector's binary_quantize. Prints a table in Markdown, and the milliseconds of a call.
"""
import io
import subprocess

import numpy as np
from sklearn.datasets import load_digits

LAWS = {
    "gpu_project_bits": "gpu_project_bits(v, {k}, {seed})",
    "signs of gpu_project": "(SELECT string_agg((e > 0)::int::text, '' ORDER BY o) FROM unnest(gpu_project(v, {k}, {seed})) "
                            "WITH ORDINALITY u(e, o))",
    "signs of gpu_project, density 1": "(SELECT string_agg((e > 0)::int::text, '' ORDER BY o) FROM "
                                       "unnest(gpu_project(v, {k}, {seed}, 1)) WITH ORDINALITY u(e, o))",
}


def sql(text):
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input=text, capture_output=True, text=True, check=True)
    return run.stdout.split("\n")[:-1]


def neighbours(distance, queries):
    """Returns the ten nearest others of each query."""
    distance = distance[queries].astype(float)
    distance[np.arange(len(queries)), queries] = np.inf
    return np.argsort(distance, axis=1, kind="stable")[:, :10]


def recall(bits, queries, exact):
    signs = 2.0 * np.array([[c == "1" for c in row] for row in bits]) - 1
    found = neighbours(-signs @ signs.T, queries)
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, exact)])


def main():
    vectors = load_digits().data
    vectors = (vectors - vectors.mean(axis=0)).astype(np.float32)
    queries = np.random.default_rng(1).choice(len(vectors), 300, replace=False)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    exact = neighbours(-unit @ unit.T, queries)
    rows = io.StringIO()
    for i, v in enumerate(vectors):
        rows.write("%d\t{%s}\n" % (i, ",".join(map(repr, map(float, v)))))
    sql("DROP TABLE IF EXISTS gpureg_digits;\nCREATE TABLE gpureg_digits (id int, v real[]);\nCOPY gpureg_digits FROM STDIN;\n"
        + rows.getvalue() + "\\.\n")
    print("| bits | " + " | ".join(LAWS) + " | signs of the coordinates |")
    print("|---" * (len(LAWS) + 2) + "|")
    for k in (64, 128, 256):
        cells = []
        for law in LAWS.values():
            found = [recall(sql("SELECT %s FROM gpureg_digits ORDER BY id;" % law.format(k=k, seed=seed)), queries, exact)
                     for seed in range(10)]
            cells.append("%.3f ± %.3f" % (np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))))
        plain = "%.3f" % recall(["".join("01"[int(e > 0)] for e in v) for v in vectors], queries, exact)
        print("| %d | %s | %s |" % (k, " | ".join(cells), plain if k == 64 else ""))
    for n in (64, 768, 1536):
        for law in ("gpu_project_bits(v, 256, 1)", "gpu_project(v, 256, 1)"):
            taken = sql("SET jit = off; CREATE TEMP TABLE t AS SELECT array_agg(sin(i * j)::real ORDER BY j) AS v FROM "
                        "generate_series(1, 500) i, generate_series(1, %d) j GROUP BY i;\n"
                        "SELECT count(%s) FROM t;\n\\timing on\nSELECT count(%s) FROM t;" % (n, law, law))
            ms = float(taken[-1].split()[1])
            print("%s of %d elements: %.4f ms" % (law, n, ms / 500))
    sql("DROP TABLE gpureg_digits;")


main()
