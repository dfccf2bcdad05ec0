#!/usr/bin/env python3
"""Fits of 100,000 rows with absorbed effects for test/sql/absorb.sql: direct solves, refined in extended precision.

    python3 test/data/absorb_large_reference.py > test/data/absorb_large.csv

needs numpy, on a processor whose long double has 64 bits of mantissa. The rows are made of integers, in SQL and here:
the "difficult" design of fixest's benchmarks, where row i is of person i / 10, year i % 10 and firm i % 434. Columns
are projected by means over persons and a pseudoinverse of the Schur complement of years and firms, eight times, each
time from what is left, in extended precision; the last time changes nothing. Lines: vcov, term, estimate, std_error;
then df_residual as an estimate. Clusters are persons.
"""
import numpy as np

N, K = 100000, 2
i = np.arange(N, dtype=np.int64)
person, year, firm = i // 10, i % 10, i % 434
Real = np.longdouble


def columns():
    # each number is rounded once to float8, as in SQL
    x1 = (i * 7919 % 10007) / 10007.0
    x2 = (i * 104729 % 9973) / 9973.0 + person % 7 * 1e6
    y = x1 - 2 * ((i * 104729 % 9973) / 9973.0) + person % 13 + firm % 11 + (i * 15485863 % 100003) / 100003.0
    return np.column_stack([x1, x2, y]).astype(Real)


def sums(a, codes, n):
    out = np.zeros((n, a.shape[1]), dtype=Real)
    np.add.at(out, codes, a)
    return out


def schur():
    """Returns S of 444 levels: years, then firms."""
    codes = np.column_stack([year, 10 + firm])
    s = np.zeros((444, 444))
    for c in codes.T:
        for d in codes.T:
            np.add.at(s, (c, d), 1.0)
    counts = np.zeros((10000, 444))
    for c in codes.T:
        np.add.at(counts, (person, c), 1.0)
    return s - counts.T @ counts / 10


def project(a, inverse):
    for _ in range(8):
        mean = sums(a, person, 10000) / 10
        rest = a - mean[person]
        right = np.vstack([sums(rest, year, 10), sums(rest, firm, 434)])
        effect = (inverse @ right.astype(float)).astype(Real)
        level = effect[:10][year] + effect[10:][firm]
        a = rest - level + (sums(level, person, 10000) / 10)[person]
    return a


def main():
    s = schur()
    values, vectors = np.linalg.eigh(s)
    kept = values > 1e-9 * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    rank = 10000 + int(kept.sum())
    a = project(columns(), inverse)
    x, y = a[:, :K], a[:, K]
    g = x.T @ x
    det = g[0, 0] * g[1, 1] - g[0, 1] * g[1, 0]
    bread = np.array([[g[1, 1], -g[0, 1]], [-g[1, 0], g[0, 0]]]) / det
    b = bread @ (x.T @ y)
    e = y - x @ b
    df = N - rank - K
    print("vcov,term,estimate,std_error")
    scores = x * e[:, None]
    by_person = sums(scores, person, 10000)
    for name, v in (("iid", bread * (e @ e) / df), ("HC1", bread @ (scores.T @ scores) @ bread * N / df),
                    ("CR1", bread @ (by_person.T @ by_person) @ bread * Real(N - 1) / (N - K - rank + 9999) * 10000 /
                     9999)):
        for k in range(K):
            print(f"{name},x{k + 1},{np.format_float_scientific(b[k], 18)},"
                  f"{np.format_float_scientific(np.sqrt(v[k, k]), 18)}")
    print(f"iid,df_residual,{df},")


if __name__ == "__main__":
    main()
