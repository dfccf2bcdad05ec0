#!/usr/bin/env python3
"""Fits with absorbed effects for test/sql/absorb.sql, by dummy variables in 50 digits.

    python3 test/data/absorb_reference.py test/data

writes absorb_rows.csv, absorb_fits.csv and absorb_effects.csv there; the suite reads these, and needs neither Python
nor mpmath. To change a case, change it here, run this again with mpmath (1.2 or later), and commit the files. Two runs give
the same bytes.

absorb_rows.csv: dataset, y, x1, x2, weight, frequency, f1, f2, f3, c1, c2. Numbers are float8 in their shortest form.

absorb_fits.csv: dataset, absorb, vcov, clusters, weighting, term, estimate, std_error, to 25 digits. A term that the
effects or earlier terms span has neither; a negative variance, of two ways of clusters, has no root. Further lines
have the fit's n, df_residual, effects_df, singletons, deviance, r_squared and within_r_squared as their estimates.

absorb_effects.csv: dataset, absorb, weighting, effect, level, estimate, n: the effects of the levels, where each factor
but the first has an effect of 0 for its first level in each connected component. Sets of factors whose dummies have
further dependencies are left out.

The dummies of all factors and the regressors are one matrix, from which Gram-Schmidt in 50 digits drops columns whose
residual is below 1e-30 of their length: the rank is exact, as the dummies are integers. Singletons are dropped until
there are none. Small-sample factors are those of R's fixest by default: n / (n - k) for HC1; for CR1 (n - 1) / (n - k)
times G / (G - 1), where G is the smaller number of clusters with two ways, and factors that are nested in a cluster
column count one degree of freedom each in k, or one in all if every factor is nested. k is the exact rank, where
fixest counts levels less the number of factors but one.
"""
import csv
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 50
ZERO = mpf(10) ** -30


def dot(w, a, b):
    return mpmath.fsum(x * y * z for x, y, z in zip(w, a, b))


def orthogonalise(w, basis, column):
    """The column less its projection on the basis, orthonormal by weights; twice"""
    for _ in range(2):
        for q in basis:
            s = dot(w, q, column)
            column = [c - s * v for c, v in zip(column, q)]
    return column


def extend(w, basis, column):
    """Adds the column to the basis unless the basis spans it; returns its residual, or None."""
    length = mpmath.sqrt(dot(w, column, column))
    rest = orthogonalise(w, basis, column)
    norm = mpmath.sqrt(dot(w, rest, rest))
    if norm <= ZERO * length:
        return None
    basis.append([c / norm for c in rest])
    return rest


def inverse(a):
    n = len(a)
    m = mpmath.matrix(a) ** -1
    return [[m[i, j] for j in range(n)] for i in range(n)]


def multiply(a, b):
    return [[mpmath.fsum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for i in range(len(a))]


def drop_singletons(rows, absorb, weighting):
    while True:
        kept = rows
        for f in absorb:
            count = {}
            for r in kept:
                count[r[f]] = count.get(r[f], 0) + (r["frequency"] if weighting == "frequency" else 1)
            kept = [r for r in kept if count[r[f]] > 1]
        if len(kept) == len(rows):
            return rows
        rows = kept


def middle(scores, groups, counts):
    """The sum of s s' over groups"""
    k = len(scores[0])
    sums = {}
    for s, g in zip(scores, groups):
        t = sums.setdefault(g, [mpf(0)] * k)
        for i in range(k):
            t[i] += s[i]
    out = [[mpf(0)] * k for _ in range(k)]
    for g, t in sums.items():
        for i in range(k):
            for j in range(k):
                out[i][j] += t[i] * t[j] * (counts[g] if counts else 1)
    return out, len(sums)


def factor_k(rows, absorb, clusters, rank, k):
    nested = [f for f in absorb
              if any(all(len({r[c] for r in rows if r[f] == l}) == 1 for l in {r[f] for r in rows}) for c in clusters)]
    if len(nested) == len(absorb):
        return k + 1
    return max(k + rank - sum(len({r[f] for r in rows}) - 1 for f in nested), k + 1)


def fit(rows, absorb, terms, vcov, clusters, weighting):
    complete = len(rows)
    rows = drop_singletons(rows, absorb, weighting)
    w = [mpf(r[weighting]) if weighting else mpf(1) for r in rows]
    n = sum(w) if weighting == "frequency" else mpf(len(rows))
    basis = []
    for f in absorb:
        for level in sorted({r[f] for r in rows}):
            extend(w, basis, [mpf(1) if r[f] == level else mpf(0) for r in rows])
    rank = len(basis)
    y = [mpf(r["y"]) for r in rows]
    projected = orthogonalise(w, basis, y)
    within = dot(w, projected, projected)
    effects = list(basis)
    kept, columns = [], []
    for t in terms:
        column = [mpf(r[t]) for r in rows]
        if extend(w, basis, column) is not None:
            kept.append(t)
            columns.append(orthogonalise(w, effects, column))
    k = len(kept)
    gram = [[dot(w, a, b) for b in columns] for a in columns]
    bread = inverse(gram)
    right = [dot(w, a, projected) for a in columns]
    coef = [mpmath.fsum(bread[i][j] * right[j] for j in range(k)) for i in range(k)]
    e = [projected[i] - mpmath.fsum(coef[j] * columns[j][i] for j in range(k)) for i in range(len(rows))]
    rss = dot(w, e, e)
    df = n - rank - k
    if vcov == "iid":
        v = [[b * rss / df for b in row] for row in bread]
    elif vcov == "HC1":
        u = [mpf(1)] * len(rows) if weighting == "frequency" else w
        scores = [[u[i] * e[i] * columns[j][i] for j in range(k)] for i in range(len(rows))]
        m, _ = middle(scores, range(len(rows)), w if weighting == "frequency" else None)
        v = [[b * n / df for b in row] for row in multiply(multiply(bread, m), bread)]
    else:
        scores = [[w[i] * e[i] * columns[j][i] for j in range(k)] for i in range(len(rows))]
        m = [[mpf(0)] * k for _ in range(k)]
        g = []
        ways = [[c] for c in clusters] + ([clusters] if len(clusters) > 1 else [])
        for way in ways:
            part, size = middle(scores, [tuple(r[c] for c in way) for r in rows], None)
            sign = -1 if len(way) > 1 else 1
            m = [[a + sign * b for a, b in zip(r1, r2)] for r1, r2 in zip(m, part)]
            if len(way) == 1:
                g.append(size)
        left = n - factor_k(rows, absorb, clusters, rank, k)
        f = (n - 1) / left * min(g) / (min(g) - mpf(1))
        v = [[b * f for b in row] for row in multiply(multiply(bread, m), bread)]
    mean = dot(w, y, [mpf(1)] * len(y)) / mpmath.fsum(w)
    total = mpmath.fsum(a * (b - mean) ** 2 for a, b in zip(w, y))
    error = [mpmath.sqrt(v[j][j]) if v[j][j] > 0 else None for j in range(k)]
    out = [(t, coef[kept.index(t)], error[kept.index(t)]) if t in kept else (t, None, None) for t in terms]
    return out + [("n", n, None), ("df_residual", df, None), ("effects_df", mpf(rank), None),
                  ("singletons", mpf(complete - len(rows)), None), ("deviance", rss, None),
                  ("r_squared", 1 - rss / total, None), ("within_r_squared", 1 - rss / within, None)]


def components(rows, absorb):
    """The component of each level: the least of its levels' numbers"""
    label = {}
    for r in rows:
        for f in absorb:
            label.setdefault((f, r[f]), len(label))
    changed = True
    while changed:
        changed = False
        for r in rows:
            least = min(label[f, r[f]] for f in absorb)
            for f in absorb:
                changed |= label[f, r[f]] != least
                label[f, r[f]] = least
    return label


def effects(rows, absorb, terms, weighting):
    """(effect, level, estimate, n) of each level, or None if the dummies have further dependencies"""
    rows = drop_singletons(rows, absorb, weighting)
    w = [mpf(r[weighting]) if weighting else mpf(1) for r in rows]
    label = components(rows, absorb)
    levels = [(f, l) for f in absorb for l in sorted({r[f] for r in rows})]
    first = {}
    for f, l in levels:
        first.setdefault((f, label[f, l]), l)
    free = [(f, l) for f, l in levels if f == absorb[0] or first[f, label[f, l]] != l]
    basis = []
    columns = [[mpf(1) if r[f] == l else mpf(0) for r in rows] for f, l in free]
    if any(extend(w, basis, c) is None for c in columns):
        return None
    kept = []
    for t in terms:
        column = [mpf(r[t]) for r in rows]
        if extend(w, basis, column) is not None:
            kept.append(column)
    columns += kept
    y = [mpf(r["y"]) for r in rows]
    gram = mpmath.matrix([[dot(w, a, b) for b in columns] for a in columns])
    solution = mpmath.lu_solve(gram, mpmath.matrix([dot(w, a, y) for a in columns]))
    estimate = {key: solution[i] for i, key in enumerate(free)}
    return [(f, l, estimate.get((f, l), mpf(0)),
             sum(r["frequency"] if weighting == "frequency" else 1 for r in rows if r[f] == l)) for f, l in levels]


def make(name, n, levels, seed, far=0.0, collinear=False, ring=False):
    """Random rows; far: size of the groups' means; collinear: x2 is constant within f1; ring: f2 = row mod levels"""
    r = random.Random(seed)
    rows = []
    for i in range(n):
        f = [r.randrange(l) for l in levels] + [0] * (3 - len(levels))
        if ring:
            f = [i // 4, i % levels[1], i % levels[2]]
        x1, x2 = r.gauss(0, 1), r.gauss(0, 1)
        if collinear:
            x2 = float(f[0] * f[0] % 7)
        y = x1 - 0.5 * x2 + f[0] * 0.3 + (f[1] % 3) + r.gauss(0, 1) + far * f[0]
        rows.append({"dataset": name, "y": y, "x1": x1 + far * (f[0] % 2), "x2": x2, "weight": r.uniform(0.2, 3),
                     "frequency": r.choice([1, 1, 2, 3]), "f1": f[0], "f2": f[1], "f3": f[2],
                     "c1": f[0] // 2, "c2": r.randrange(6)})
    return rows


def split(name, seed):
    """Two factors in two unconnected parts, with a chain of singletons"""
    rows = make(name, 40, (5, 4), seed) + make(name, 30, (4, 3), seed + 1)
    for r in rows[40:]:
        r["f1"] += 5
        r["f2"] += 4
        r["c1"] = r["f1"] // 2
    for i in range(3):
        rows.append({**rows[0], "f1": 20 + i, "f2": 20 + (i + 1) // 2, "y": 1.5 * i, "x1": 0.25 * i})
    return rows


CASES = [
    (make("one", 40, (6,), 1), [["f1"]]),
    (make("two", 70, (9, 5), 2), [["f1", "f2"], ["f2"]]),
    (make("three", 90, (8, 6, 4), 3), [["f1", "f2", "f3"], ["f3", "f1"]]),
    (split("split", 4), [["f1", "f2"], ["f2", "f1"]]),
    (make("far", 60, (7, 4), 5, far=2.5e8), [["f1"], ["f1", "f2"]]),
    (make("spanned", 60, (8, 5), 6, collinear=True), [["f1", "f2"]]),
    (make("ring", 64, (16, 6, 4), 7, ring=True), [["f1", "f2", "f3"]]),
]


def write_effects(folder):
    with open(os.path.join(folder, "absorb_effects.csv"), "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["dataset", "absorb", "weighting", "effect", "level", "estimate", "n"])
        for rows, sets in CASES:
            for absorb in sets:
                for weighting in ["", "weight", "frequency"]:
                    for effect, level, estimate, n in effects(rows, absorb, ["x1", "x2"], weighting) or []:
                        writer.writerow([rows[0]["dataset"], "{%s}" % ",".join(absorb), weighting, effect, level,
                                         text(estimate), n])


def text(x):
    return "" if x is None else mpmath.nstr(x, 25, strip_zeros=False, min_fixed=-6, max_fixed=30)


def main(folder):
    with open(os.path.join(folder, "absorb_rows.csv"), "w", newline="") as out:
        names = ["dataset", "y", "x1", "x2", "weight", "frequency", "f1", "f2", "f3", "c1", "c2"]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        for rows, _ in CASES:
            writer.writerows(rows)
    with open(os.path.join(folder, "absorb_fits.csv"), "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["dataset", "absorb", "vcov", "clusters", "weighting", "term", "estimate", "std_error"])
        for rows, sets in CASES:
            for absorb in sets:
                for vcov, clusters in [("iid", []), ("HC1", []), ("CR1", ["c1"]), ("CR1", ["f1"]),
                                       ("CR1", ["c1", "c2"])]:
                    for weighting in ["", "weight", "frequency"]:
                        if clusters == ["f1"] and weighting:
                            continue
                        for term, estimate, error in fit(rows, absorb, ["x1", "x2"], vcov, clusters, weighting):
                            writer.writerow([rows[0]["dataset"], "{%s}" % ",".join(absorb), vcov,
                                             "{%s}" % ",".join(clusters), weighting, term, text(estimate), text(error)])


if __name__ == "__main__":
    main(sys.argv[1])
    write_effects(sys.argv[1])
