#!/usr/bin/env python3
"""Permutation tests by flipped signs for test/sql/permute.sql, in 50 digits.

    python3 test/data/permute_reference.py test/data

writes permute_fits.csv there: fit, term, estimate, statistic, extreme (how many of the 999 replicates have a |t| of at
least |statistic|). The suite reads it, and needs neither Python nor mpmath. The rows are those of boot_reference.py, in
boot_rows.csv. Two runs give the same bytes.

Signs are made here from what src/compute/resample/flip_draw.h says, with Python's integers. A term's replicate is a weighted
least-squares fit, by the inverse of X'WX, to what the model without the term fits and to its residuals with their signs
(Freedman and Lane); its t is the coefficient over a standard error from the replicate's own residuals.
"""
import csv
import os
import sys

import mpmath
from mpmath import mp, mpf

import boot_reference
from boot_reference import make_rows, philox

mp.dps = 50
TAG = 0x666C6970
NREPS = 999


def signs(seed, key, n):
    """Returns the signs of replicates 0 .. n - 1."""
    k, s = key % 2 ** 64, seed % 2 ** 64
    found = []
    for b in range((n + 127) // 128):
        for word in philox([k % 2 ** 32, k >> 32, b, TAG], [s % 2 ** 32, s >> 32]):
            found += [-1 if word >> i & 1 else 1 for i in range(32)]
    return found[:n]


def gram(rows, weights):
    t = len(rows[0])
    a = mpmath.matrix(t, t)
    for x, w in zip(rows, weights):
        for i in range(t):
            for j in range(t):
                a[i, j] += w * x[i] * x[j]
    return a


def fit_to(inverse, rows, weights, y):
    """Coefficients, residuals and t's squared standard errors over the mean square"""
    t = len(rows[0])
    b = mpmath.matrix(t, 1)
    for x, w, v in zip(rows, weights, y):
        for i in range(t):
            b[i] += w * v * x[i]
    beta = inverse * b
    residuals = [v - mpmath.fsum(beta[i] * x[i] for i in range(t)) for x, v in zip(rows, y)]
    rss = mpmath.fsum(w * e * e for w, e in zip(weights, residuals))
    return [beta[i] for i in range(t)], residuals, rss / (len(rows) - t)


def test(name, terms, seed, keys, rows, y, weights=None):
    weights = weights or [mpf(1)] * len(rows)
    inverse = gram(rows, weights) ** -1
    beta, _, square = fit_to(inverse, rows, weights, y)
    statistic = [b / mpmath.sqrt(inverse[i, i] * square) for i, b in enumerate(beta)]
    drawn = [signs(seed, k, NREPS) for k in keys]
    extreme = [0] * len(terms)
    for i in range(len(terms)):
        others = [[v for j, v in enumerate(x) if j != i] for x in rows]
        _, residuals, _ = fit_to(gram(others, weights) ** -1, others, weights, y)
        fitted = [v - e for v, e in zip(y, residuals)]
        for r in range(NREPS):
            flipped = [f + s[r] * e for f, s, e in zip(fitted, drawn, residuals)]
            own_beta, _, own = fit_to(inverse, rows, weights, flipped)
            share = abs(own_beta[i] / mpmath.sqrt(inverse[i, i] * own) / statistic[i])
            # a tie, or no doubt
            assert abs(share - 1) < mpf(10) ** -30 or abs(share - 1) > 1e-8, (name, share)
            extreme[i] += share > 1 - 1e-10
    return [[name, term, mpmath.nstr(beta[i], 25), mpmath.nstr(statistic[i], 25), extreme[i]]
            for i, term in enumerate(terms)]


def main(folder):
    data, keys = make_rows()
    column = {c: [row[i] for row in data] for i, c in enumerate(boot_reference.COLUMNS)}
    number = {c: [mpf(v) for v in column[c]] for c in ("y", "x1", "x2", "far", "w")}
    one = [mpf(1)] * len(data)

    def design(*names):
        return list(zip(*[one if n == "1" else number[n] for n in names]))

    def key(name):
        return [k[name] for k in keys]

    terms = ["(intercept)", "x1", "x2"]
    # the response without most of what the terms tell, so that there is something to count; a float8 of four places
    noise = [mpf(round(10000 * float(v - 2 * a + b)) / 10000)
             for v, a, b in zip(number["y"], number["x1"], number["x2"])]
    lines = []
    for k, seed in [("id", 1), ("big", -5), ("name", 2 ** 40 + 3), ("token", 2), ("firm", 5)]:
        lines += test("by " + k, terms, seed, key(k), design("1", "x1", "x2"), noise)
    lines += test("weights", terms, 6, key("id"), design("1", "x1", "x2"), noise, number["w"])
    lines += test("no intercept", terms[1:], 7, key("id"), design("x1", "x2"), noise)
    lines += test("far", ["(intercept)", "far", "x1"], 8, key("id"), design("1", "far", "x1"), noise)
    lines += test("factor", ["(intercept)", "x1", "level[rare]"], 10, key("id"),
                  [x + (mpf(int(v == "rare")),) for x, v in zip(design("1", "x1"), column["level"])], noise)
    lines += test("few", terms, 11, key("id")[:7], design("1", "x1", "x2")[:7], noise[:7])
    with open(os.path.join(folder, "permute_fits.csv"), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([["fit", "term", "estimate", "statistic", "extreme"]] + lines)


if __name__ == "__main__":
    main(sys.argv[1])
