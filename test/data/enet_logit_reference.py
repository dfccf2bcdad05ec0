#!/usr/bin/env python3
"""Logistic elastic nets for test/sql/enet_logit.sql, solved in 60 digits.

    python3 test/data/enet_logit_reference.py test/data

writes enet_logit_rows.csv and enet_logit_fits.csv there; the suite reads them, and needs neither Python nor mpmath. To
change a case, change it here, run this again with mpmath (1.2 or later), and commit the files. Two runs give the same
bytes.

enet_logit_rows.csv: set, fold, w, y, x: rows of float8 numbers, from enet_reference.py's generator. enet_logit_fits.csv:
set, alpha, penalty, positive, intercept, standardize, weighted, lambda, deviance, coef: the intercept first, if there
is one.

A fit is a sequence of quadratics, each solved by enet_reference.py's active-set algorithm, halved where the objective
would rise. At the end the conditions of the minimum are checked to 40 digits from the rows: for each feature the
gradient of the deviance against its penalty.
"""
import csv
import os
import sys

from mpmath import mp, mpf, sqrt, fsum, exp, log

from enet_reference import Generator, INF, solve, text

mp.dps = 60
EXACT = mpf(10) ** -42


def plain(g):
    x = [g.normal() for _ in range(5)]
    return x, 0.3 + x[0] - 0.7 * x[1] + 0.4 * x[3]


def near(g):
    """correlations of 0.99999 and more, far from 0, of sizes that differ"""
    a = g.normal()
    x = [a, a + 4e-3 * g.normal(), 1e4 + a + 2e-3 * g.normal(), 1e-6 * (a + 1e-2 * g.normal()), 100 * g.normal()]
    return x, x[0] + 0.005 * x[4]


def wide(g):
    x = [g.normal() for _ in range(20)]
    return x, 2 * x[0] - x[1] + x[2]


def apart(g):
    """separated by the first column"""
    x = [g.normal() for _ in range(3)]
    return x, 1e6 * (x[0] - 0.2)


SETS = [('plain', plain, 50, 11), ('near', near, 80, 12), ('wide', wide, 14, 13), ('apart', apart, 30, 14)]
FRACTIONS = [mpf(f) for f in ('0.8', '0.3', '0.05', '0.001')]
OPTIONS = [dict(), dict(alpha=0.5), dict(alpha=0.0), dict(positive=True), dict(intercept=False),
           dict(standardize=False, alpha=0.3), dict(weighted=True), dict(alpha=0.7, weighted=True, intercept=False)]


def options_of(name):
    if name == 'plain':
        return OPTIONS + [dict(penalty=[0, 1, 2, 0.5, 1]), dict(alpha=0.7, penalty=[1, INF, 1, 0, 2]),
                          dict(penalty=[1, 1, 0, 1, 1], positive=True)]
    return OPTIONS[:3] + OPTIONS[5:7] if name == 'near' else OPTIONS[:4]


class Model:
    """Rows with weights, and what is penalised"""

    def __init__(self, rows, alpha=1.0, penalty=None, positive=False, intercept=True, standardize=True,
                 weighted=False):
        self.w = [mpf(r[0]) if weighted else mpf(1) for r in rows]
        self.y = [mpf(r[1]) for r in rows]
        self.x = [[mpf(v) for v in r[2]] for r in rows]
        self.n = fsum(self.w)
        self.p = len(self.x[0])
        self.alpha = mpf(alpha)
        self.intercept = intercept
        self.positive = positive
        p = range(self.p)
        mean = [fsum(w * x[j] for w, x in zip(self.w, self.x)) / self.n for j in p]
        variance = [fsum(w * (x[j] - mean[j]) ** 2 for w, x in zip(self.w, self.x)) / self.n for j in p]
        scale = [sqrt(v) if standardize else mpf(1) for v in variance]
        factors = [mpf(1) if penalty is None or penalty[j] == INF else mpf(penalty[j]) for j in p]
        factors = [f * self.p / sum(factors) for f in factors]
        self.one = [factors[j] * scale[j] for j in p]
        self.two = [factors[j] * scale[j] ** 2 for j in p]
        self.used = [j for j in p if variance[j] > 0 and (penalty is None or penalty[j] != INF)]

    def at(self, b0, b):
        """deviance, residuals and weights"""
        eta = [b0 + fsum(v * c for v, c in zip(x, b) if c) for x in self.x]
        mu = [1 / (1 + exp(-e)) for e in eta]
        deviance = -2 * fsum(w * log(m if y else 1 - m) for w, m, y in zip(self.w, mu, self.y))
        return (deviance, [w * (y - m) for w, m, y in zip(self.w, mu, self.y)],
                [w * m * (1 - m) for w, m in zip(self.w, mu)])

    def objective(self, b0, b, lam):
        return self.at(b0, b)[0] / 2 / self.n + lam * fsum(
            self.alpha * self.one[j] * abs(b[j]) + (1 - self.alpha) / 2 * self.two[j] * b[j] ** 2 for j in self.used)

    def step(self, b0, b, lam, used):
        _, r, v = self.at(b0, b)
        total = fsum(v)
        mean = [fsum(a * x[j] for a, x in zip(v, self.x)) / total if self.intercept else mpf(0) for j in used]
        z = [[x[j] - m for j, m in zip(used, mean)] for x in self.x]
        k = range(len(used))
        h = [[fsum(a * s[i] * s[j] for a, s in zip(v, z)) / self.n for j in k] for i in k]
        c = [fsum(e * s[i] for e, s in zip(r, z)) / self.n + fsum(h[i][j] * b[used[j]] for j in k) for i in k]
        for i in k:
            h[i][i] += lam * (1 - self.alpha) * self.two[used[i]]
        one = [lam * self.alpha * self.one[j] for j in used]
        free = [i for i in k if one[i] == 0 and not self.positive]
        found = solve(h, c, one, free, self.positive) if used else []
        new = [mpf(0)] * self.p
        for i in k:
            new[used[i]] = found[i]
        if not self.intercept:
            return mpf(0), new
        return b0 + fsum(r) / total - fsum(m * (new[j] - b[j]) for m, j in zip(mean, used)), new

    def fit(self, lam, used=None):
        used = self.used if used is None else used
        b0, b = mpf(0), [mpf(0)] * self.p
        for _ in range(300):
            n0, n = self.step(b0, b, lam, used)
            size = max([abs(n0 - b0)] + [abs(n[j] - b[j]) * sqrt(self.two[j] or 1) for j in used])
            while size > mpf(10) ** -20 and self.objective(n0, n, lam) > self.objective(b0, b, lam):
                n0, n = (n0 + b0) / 2, [(s + t) / 2 for s, t in zip(n, b)]
            b0, b = n0, n
            if size < mpf(10) ** -46:
                return b0, b
        raise RuntimeError('no minimum was found')

    def check(self, b0, b, lam):
        """the conditions of the minimum"""
        _, r, _ = self.at(b0, b)
        assert not self.intercept or abs(fsum(r)) < EXACT * self.n
        for j in self.used:
            size = fsum(abs(e * x[j]) for e, x in zip(r, self.x)) / self.n
            g = fsum(e * x[j] for e, x in zip(r, self.x)) / self.n - lam * (1 - self.alpha) * self.two[j] * b[j]
            one = lam * self.alpha * self.one[j]
            assert b[j] >= 0 or not self.positive
            if b[j]:
                assert abs(g - (one if b[j] > 0 else -one)) < EXACT * size
            else:
                assert (g if self.positive else abs(g)) < one + EXACT * size

    def largest(self):
        """the least lambda without a nonzero coefficient that is penalised"""
        b0, b = self.fit(mpf(1), [j for j in self.used if self.one[j] == 0])
        _, r, _ = self.at(b0, b)
        return max(abs(fsum(e * x[j] for e, x in zip(r, self.x))) / self.n / self.one[j]
                   for j in self.used if self.one[j]) / max(self.alpha, mpf('1e-3'))


def main(folder):
    with open(os.path.join(folder, 'enet_logit_rows.csv'), 'w', newline='') as rows_file, \
            open(os.path.join(folder, 'enet_logit_fits.csv'), 'w', newline='') as fits_file:
        rows_out = csv.writer(rows_file, lineterminator='\n')
        fits_out = csv.writer(fits_file, lineterminator='\n')
        rows_out.writerow(['set', 'fold', 'w', 'y', 'x'])
        fits_out.writerow(['set', 'alpha', 'penalty', 'positive', 'intercept', 'standardize', 'weighted', 'lambda',
                           'deviance', 'coef'])
        for name, make, n, seed in SETS:
            g = Generator(seed)
            for _ in range(20):
                g.uniform()
            rows = []
            for k in range(n):
                x, eta = make(g)
                y = 1 if g.uniform() < 1 / (1 + exp(-mpf(eta))) else 0
                w = 1 + int(4 * g.uniform())
                rows.append((w, y, x))
                rows_out.writerow([name, k % 5, w, y, text(x)])
            for o in options_of(name):
                model = Model(rows, **o)
                most = model.largest()
                for fraction in FRACTIONS[:3] if name in ('wide', 'near') else FRACTIONS:
                    lam = mpf(float(fraction * most))
                    b0, b = model.fit(lam)
                    model.check(b0, b, lam)
                    fits_out.writerow([name, repr(o.get('alpha', 1.0)), text(o.get('penalty')),
                                       'ft'[o.get('positive', False)], 'ft'[o.get('intercept', True)],
                                       'ft'[o.get('standardize', True)], 'ft'[o.get('weighted', False)],
                                       repr(float(lam)), repr(float(model.at(b0, b)[0])),
                                       text([float(v) for v in ([b0] if model.intercept else []) + b])])
            print(name, file=sys.stderr, flush=True)


main(sys.argv[1])
