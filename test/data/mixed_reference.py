#!/usr/bin/env python3
"""Makes mixed_rows.csv and mixed_fits.csv: linear mixed models by REML and ML, in 240-bit arithmetic.

    python3 test/data/mixed_reference.py FOLDER test/data

FOLDER has sleepstudy.csv, Dyestuff.csv, Pastes.csv and Penicillin.csv of R's lme4 and Machines.csv of nlme, as by
write.csv(..., row.names = FALSE). Needs python-flint and scipy. The criterion is minimised by Newton's method over the Cholesky
factors of the effects' covariances, with numerical derivatives of steps of 1e-20 from where scipy stops, by the sums of all rows. At the
minimum it must agree with the criterion by the n x n matrix V of all rows. 25 digits are kept. The other sets are made here: unbalanced groups, some of one row; columns far from 0;
weights; no intercept; effects of a slope alone.
"""
import csv
import random
import sys

import numpy as np
from flint import arb, arb_mat, ctx
from scipy.optimize import minimize

ctx.prec = 240


def read(folder, name):
    with open(f"{folder}/{name}.csv") as f:
        return list(csv.DictReader(f))


def rows_of(folder):
    """Returns the rows of each set: y, x1, x2, weight as texts, and the groups g and h."""
    sets = {}
    sets["sleepstudy"] = [(r["Reaction"], r["Days"], "0", "1", r["Subject"], "") for r in read(folder, "sleepstudy")]
    sets["dyestuff"] = [(r["Yield"], "0", "0", "1", r["Batch"], "") for r in read(folder, "Dyestuff")]
    sets["pastes"] = [(r["strength"], "0", "0", "1", r["batch"], r["cask"]) for r in read(folder, "Pastes")]
    sets["penicillin"] = [(r["diameter"], "0", "0", "1", r["plate"], r["sample"]) for r in read(folder, "Penicillin")]
    sets["machines"] = [(r["score"], str(int(r["Machine"] == "B")), str(int(r["Machine"] == "C")), "1", r["Worker"],
                         r["Machine"]) for r in read(folder, "Machines")]
    draw = random.Random(47)
    made, far, crossed = [], [], []
    for g in range(30):
        a, b = draw.gauss(0, 2), draw.gauss(0, 0.7)
        for i in range(1 + g % 7):
            x, z = round(draw.gauss(1, 2), 3), round(draw.uniform(0, 5), 2)
            y = round(3 + a + (0.5 + b) * x - 0.25 * z + draw.gauss(0, 1.5), 4)
            w = draw.choice(["1", "2", "0.5", "3.25"])
            made.append((repr(y), repr(x), repr(z), w, f"g{g}", f"h{draw.randrange(5)}"))
            far.append((repr(round(y + 1e6, 4)), repr(round(x + 2e5, 3)), repr(z), "1", f"g{g}", ""))
    for i in range(90):
        g, h = draw.randrange(12), draw.randrange(7)
        x = round(draw.gauss(0, 1), 3)
        crossed.append((repr(round(draw.gauss(0, 1) + 1.3 * ((g * 5) % 7 - 3) * (1 + 0.2 * x) + 0.6 * ((h * 3) % 5), 4)),
                        repr(x), "0", "1", f"g{g}", f"h{h}"))
    sets["unbalanced"] = made
    sets["far"] = far
    sets["crossed"] = crossed
    return sets


# (set, name of the model, random terms for gpureg, fixed columns, intercept, weighted, random terms)
# A random term: columns (1 for the ones), and the indexes of the groups' columns
MODELS = [
    ("sleepstudy", "(1 | g)", ["x1"], True, False, [([1], "g")]),
    ("sleepstudy", "(1 + x1 | g)", ["x1"], True, False, [([1, "x1"], "g")]),
    ("sleepstudy", "(1 + x1 || g)", ["x1"], True, False, [([1], "g"), (["x1"], "g")]),
    ("dyestuff", "(1 | g)", [], True, False, [([1], "g")]),
    ("pastes", "(1 | g/h)", [], True, False, [([1], "g"), ([1], "gh")]),
    ("penicillin", "(1 | g) + (1 | h)", [], True, False, [([1], "g"), ([1], "h")]),
    ("machines", "(1 | g/h)", ["x1", "x2"], True, False, [([1], "g"), ([1], "gh")]),
    ("unbalanced", "(1 + x1 | g)", ["x1", "x2"], True, False, [([1, "x1"], "g")]),
    ("unbalanced", "(1 + x1 | g) w", ["x1", "x2"], True, True, [([1, "x1"], "g")]),
    ("unbalanced", "(0 + x1 | g)", ["x1", "x2"], True, False, [(["x1"], "g")]),
    ("unbalanced", "(1 | g) 0", ["x1", "x2"], False, False, [([1], "g")]),
    ("unbalanced", "(1 | h) + (1 + x1 | g)", ["x1", "x2"], True, False, [([1], "h"), ([1, "x1"], "g")]),
    ("far", "(1 + x1 | g)", ["x1", "x2"], True, False, [([1, "x1"], "g")]),
    ("far", "(0 + x1 | g)", ["x1", "x2"], True, False, [(["x1"], "g")]),
    ("crossed", "(1 | h) + (1 + x1 | g)", ["x1"], True, False, [([1], "h"), ([1, "x1"], "g")]),
]
COLUMN = {"x1": 1, "x2": 2}


class Problem:
    def __init__(self, rows, fixed, intercept, weighted, random_terms, reml):
        n = len(rows)
        self.n, self.reml = n, reml
        root = [arb(r[3]).sqrt() if weighted else arb(1) for r in rows]
        self.log_weights = sum((2 * r.log() for r in root), arb(0))
        x = [[root[i]] * intercept + [arb(rows[i][COLUMN[c]]) * root[i] for c in fixed] for i in range(n)]
        self.p = len(x[0])
        self.xy = arb_mat(n, self.p + 1, [v for i in range(n) for v in x[i] + [arb(rows[i][0]) * root[i]]])
        self.terms = []
        for columns, groups in random_terms:
            level = [tuple(r[4 if g == "g" else 5] for g in groups) for r in rows]
            z = [[(arb(1) if c == 1 else arb(rows[i][COLUMN[c]])) * root[i] for c in columns] for i in range(n)]
            self.terms.append((level, z, len(columns)))
        self.places, entries = [], []       # first effect of each level of each term
        for level, z, q in self.terms:
            names = sorted(set(level))
            self.places.append([len(entries) + q * k for k in range(len(names))])
            for name in names:
                entries += [[z[i][a] if level[i] == name else arb(0) for i in range(n)] for a in range(q)]
        zt = arb_mat(len(entries), n, [v for row in entries for v in row])
        self.zz, self.zb, self.bb = zt * zt.transpose(), zt * self.xy, self.xy.transpose() * self.xy

    def psi(self, theta):
        out, at = [], 0
        for _, _, q in self.terms:
            low = [[theta[at + i * (i + 1) // 2 + j] if j <= i else arb(0) for j in range(q)] for i in range(q)]
            at += q * (q + 1) // 2
            out.append([[sum((low[i][k] * low[j][k] for k in range(q)), arb(0)) for j in range(q)] for i in range(q)])
        return out

    def products(self, theta):
        """Returns (X, y)' V^-1 (X, y) and log det V by the mixed model equations."""
        size, at = self.zz.nrows(), 0
        low = arb_mat(size, size)
        for (_, _, q), places in zip(self.terms, self.places):
            for place in places:
                for i in range(q):
                    for j in range(i + 1):
                        low[place + i, place + j] = theta[at + i * (i + 1) // 2 + j]
            at += q * (q + 1) // 2
        m = low.transpose() * self.zz * low
        for k in range(size):
            m[k, k] = m[k, k] + 1
        right = low.transpose() * self.zb
        return self.bb - right.transpose() * m.solve(right), m.det().log()

    def dense_products(self, theta):
        """Returns the same by the matrix V of all rows."""
        n = self.n
        v = arb_mat(n, n)
        for i in range(n):
            v[i, i] = arb(1)
        for (level, z, q), psi in zip(self.terms, self.psi(theta)):
            u = [[sum((psi[a][b] * z[i][b] for b in range(q)), arb(0)) for a in range(q)] for i in range(n)]
            for i in range(n):
                for j in range(n):
                    if level[i] == level[j]:
                        v[i, j] = v[i, j] + sum((z[i][a] * u[j][a] for a in range(q)), arb(0))
        return self.xy.transpose() * v.solve(self.xy), v.det().log()

    def solve(self, theta, dense=False):
        """Returns the criterion, b, (X'V^-1 X)^-1 and the residual variance."""
        n, p = self.n, self.p
        s, log_det = self.dense_products(theta) if dense else self.products(theta)
        nu = n - p if self.reml else n
        xx = arb_mat(p, p, [s[i, j] for i in range(p) for j in range(p)])
        b = xx.solve(arb_mat(p, 1, [s[i, p] for i in range(p)]))
        r2 = s[p, p] - sum((b[i, 0] * s[i, p] for i in range(p)), arb(0))
        crit = log_det + nu * (1 + (2 * arb.pi() * r2 / nu).log()) - self.log_weights
        if self.reml:
            crit += xx.det().log()
        return crit, b, xx.inv(), r2 / nu

    def rough(self, theta):
        """Returns where Nelder and Mead's method in float8 stops."""
        def floats(a):
            return np.array([[float(a[i, j].mid()) for j in range(a.ncols())] for i in range(a.nrows())])
        zz, zb, bb = floats(self.zz), floats(self.zb), floats(self.bb)
        nu, p = (self.n - self.p if self.reml else self.n), self.p

        def criterion(theta):
            low, at = np.zeros_like(zz), 0
            for (_, _, q), places in zip(self.terms, self.places):
                for place in places:
                    for i in range(q):
                        low[place + i, place:place + i + 1] = theta[at + i * (i + 1) // 2:at + (i + 1) * (i + 2) // 2]
                at += q * (q + 1) // 2
            m = low.T @ zz @ low + np.eye(len(zz))
            s = bb - (low.T @ zb).T @ np.linalg.solve(m, low.T @ zb)
            xx = s[:p, :p]
            r2 = s[p, p] - s[p, :p] @ np.linalg.solve(xx, s[:p, p])
            return np.linalg.slogdet(m)[1] + nu * np.log(r2) + (np.linalg.slogdet(xx)[1] if self.reml else 0)
        best = minimize(criterion, theta, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
        return [arb(t) for t in best.x]

    def value(self, theta):
        return self.solve([arb(t.mid()) for t in theta])[0].mid()

    def minimise(self, theta):
        h = arb("1e-20")
        m = len(theta)
        for _ in range(60):
            def at(*moves):
                t = list(theta)
                for k, d in moves:
                    t[k] = t[k] + d * h
                return self.value(t)
            f0 = at()
            up, down = [at((k, 1)) for k in range(m)], [at((k, -1)) for k in range(m)]
            g = [(up[k] - down[k]) / (2 * h) for k in range(m)]
            hess = arb_mat(m, m)
            for a in range(m):
                for b in range(a + 1):
                    second = (up[a] - 2 * f0 + down[a]) / (h * h) if a == b else \
                        (at((a, 1), (b, 1)) - up[a] - up[b] + f0 + f0 - down[a] - down[b] + at((a, -1), (b, -1))) / (2 * h * h)
                    hess[a, b] = hess[b, a] = second.mid()
            # Levenberg and Marquardt: a multiple of 1 is added until the step leads down
            add = arb(0)
            while True:
                damped = arb_mat(m, m, [hess[a, b] + (add if a == b else 0) for a in range(m) for b in range(m)])
                step = damped.solve(arb_mat(m, 1, [x.mid() for x in g]))
                size = max(abs(float(step[k, 0].mid())) for k in range(m))
                trial = [(theta[k] - step[k, 0]).mid() for k in range(m)]
                if size < 1e-12 or self.value(trial) < f0:
                    break
                add = 4 * add + arb("1e-3") * max(abs(float(hess[k, k])) for k in range(m))
            theta = trial
            if size < 1e-27:
                return theta
        raise SystemExit("not converged")


def moved(theta):
    """Returns the factor of intercept and slope if x1 grows by 2e5: (1, x1) becomes (1, x1 - 2e5)."""
    a, b, c = theta
    rows = arb_mat(2, 2, [a - 200000 * b, -200000 * c, b, c])
    psi = rows * rows.transpose()
    first = psi[0, 0].sqrt()
    return [first, psi[1, 0] / first, (psi[1, 1] - psi[1, 0] * psi[1, 0] / psi[0, 0]).sqrt()]


def text(x):
    return x.mid().str(25, radius=False)


def main():
    folder, to = sys.argv[1:]
    sets = rows_of(folder)
    with open(f"{to}/mixed_rows.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["dataset", "y", "x1", "x2", "weight", "g", "h"])
        for name, rows in sets.items():
            out.writerows([name, *r] for r in rows)
    with open(f"{to}/mixed_fits.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["dataset", "model", "method", "kind", "number", "value"])
        found = {}
        for name, model, fixed, intercept, weighted, terms in MODELS:
            for method in ("reml", "ml"):
                problem = Problem(sets[name], fixed, intercept, weighted, terms, method == "reml")
                start = []
                for _, _, q in problem.terms:
                    start += [arb(1) if i == j else arb(0) for i in range(q) for j in range(i + 1)]
                if (name, model) == ("far", "(1 + x1 | g)"):
                    # rows about another origin have the same likelihood
                    theta = moved(found["unbalanced", model, method])
                else:
                    theta = problem.minimise(problem.rough([float(t.mid()) for t in start]))
                crit, b, inverse, variance = problem.solve(theta)
                found[name, model, method] = theta
                assert abs(float((problem.solve(theta, True)[0] - crit).mid())) < 1e-30
                row = [name, model, method]
                out.writerow(row + ["criterion", 1, text(crit)])
                out.writerow(row + ["variance", 0, text(variance)])
                for k in range(problem.p):
                    out.writerow(row + ["coef", k + 1, text(b[k, 0])])
                    out.writerow(row + ["error", k + 1, text((variance * inverse[k, k]).sqrt())])
                number = 0
                for psi in problem.psi(theta):
                    for i in range(len(psi)):
                        for j in range(i + 1):
                            number += 1
                            out.writerow(row + ["variance", number, text(variance * psi[i][j])])
                f.flush()


main()
