#!/usr/bin/env python3
"""Elastic nets for test/sql/enet.sql, solved in 60 digits.

    python3 test/data/enet_reference.py test/data

writes enet_rows.csv and enet_fits.csv there; the suite reads them, and needs neither Python nor mpmath. To change a
case, change it here, run this again with mpmath (1.2 or later), and commit the files. Two runs give the same bytes.

enet_rows.csv: set, fold, y, x: rows of float8 numbers, from a generator of its own. enet_fits.csv: set, alpha, penalty,
positive, intercept, standardize, lambda, coef: the intercept first, if there is one.

A fit minimises, over N rows with the penalty factors pf scaled to a sum of p,

    1/(2N) RSS + lambda sum over j of pf_j (alpha s_j |b_j| + (1 - alpha)/2 s_j^2 / s_y b_j^2).

s_j is the standard deviation of feature j about its mean, or 1 without standardize. s_y is the response's about its
mean or, without an intercept, sqrt(mean(y^2)). enet_reference.R has the same by glmnet.

A fit is Lawson and Hanson's active-set algorithm for nonnegative least squares ("Solving Least Squares Problems", 1974,
chapter 23), of the coefficients' positive and negative parts, on the normal equations of the rows as they are. The
conditions of the minimum are checked to 40 digits.
"""
import csv
import os
import sys

from mpmath import mp, mpf, matrix, lu_solve, sqrt, fsum

mp.dps = 60
TOLERANCE = mpf(10) ** -45


class Generator:
    """Knuth's MMIX generator, of which the upper 32 bits are used"""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 32) / 2 ** 32

    def normal(self):
        return sum(self.uniform() for _ in range(12)) - 6


def plain(g):
    x = [g.normal() for _ in range(6)]
    return x, 1 + 2 * x[0] - x[1] + 0.5 * x[3] + g.normal()


def near(g):
    """correlations of 0.9999995 and more, far from 0"""
    a = g.normal()
    x = [a, a + 1e-3 * g.normal(), 1e6 + a + 1e-4 * g.normal(), 1e-7 * (a + 1e-2 * g.normal()), g.normal()]
    return x, 3 * x[0] - 2 * x[1] + x[4] + 0.1 * g.normal()


def wide(g):
    x = [g.normal() for _ in range(20)]
    return x, x[0] - x[1] + x[2] + 0.3 * g.normal()


def powers(g):
    t = round(4 * g.uniform() + 3, 6)
    return [t ** k for k in range(1, 7)], t ** 3 - 10 * t ** 2 + g.normal()


def constant(g):
    """a constant column, two that are equal, and one that is two others' sum"""
    x = [g.normal() for _ in range(3)]
    return [x[0], 7.25, x[1], x[1], round(x[2] * 64) / 64], x[0] - 2 * x[1] + g.normal()


def chain(g):
    """24 columns, each of which is near the one before"""
    x = [g.normal()]
    for _ in range(23):
        x.append(x[-1] + 0.03 * g.normal())
    x = [round(v, 9) for v in x]
    return x, round(x[0] - 2 * x[5] + 3 * x[11] + x[23] + 0.1 * g.normal(), 6)


def pairs(g):
    """12 columns, and each again but for 1e-5: of some pairs both have coefficients"""
    x = [g.normal() for _ in range(12)]
    y = sum((1 - k % 3) * x[k] for k in range(12))
    x = [round(v, 9) for v in x + [v + 1e-5 * g.normal() for v in x]]
    return x, round(y + 1e5 * (x[15] - x[3]) - 2e5 * (x[20] - x[8]) + 0.1 * g.normal(), 6)


SETS = [('plain', plain, 40, 1), ('near', near, 60, 2), ('wide', wide, 12, 3), ('powers', powers, 50, 4),
        ('constant', constant, 30, 5), ('chain', chain, 60, 6), ('pairs', pairs, 60, 7)]
INF = float('inf')
FRACTIONS = [mpf(f) for f in ('0.7', '0.3', '0.03', '0.001', '0.00002')]
FEW_ROWS = [mpf(f) for f in ('0.7', '0.3', '0.1', '0.05')]
OPTIONS = [dict(), dict(alpha=0.5), dict(alpha=0.0), dict(positive=True), dict(intercept=False),
           dict(standardize=False), dict(alpha=0.3, intercept=False, standardize=False),
           dict(alpha=0.6, intercept=False), dict(alpha=0.0, intercept=False)]


def options_of(name):
    if name in ('chain', 'pairs'):
        return [dict(), dict(alpha=0.9), dict(positive=True), dict(intercept=False, standardize=False)]
    options = [o for o in OPTIONS if name != 'constant' or o.get('alpha', 1) != 1 or o.get('positive')]
    if name == 'plain':
        options += [dict(penalty=[0, 1, 2, 0.5, 1, 3]), dict(alpha=0.7, penalty=[1, INF, 1, 0, 2, 1]),
                    dict(penalty=[1, 1, 0, 1, 1, 1], positive=True)]
    return options


def products(rows, intercept):
    """X'X, X'y, the columns' means and variances about them, the response last"""
    n = len(rows)
    z = [[mpf(v) for v in row] for row in rows]
    p = len(z[0]) - 1
    means = [fsum(row[k] for row in z) / n for k in range(p + 1)]
    variances = [fsum((row[k] - means[k]) ** 2 for row in z) / n for k in range(p + 1)]
    base = means if intercept else [mpf(0)] * (p + 1)
    gram = [[fsum((row[i] - base[i]) * (row[j] - base[j]) for row in z) for j in range(p + 1)] for i in range(p + 1)]
    return n, p, means, variances, gram


def solve(h, c, one, free, positive):
    """min b'hb/2 - c'b + sum one |b|; signs: coefficients that are nonzero, with their signs, or free"""
    p = len(c)
    b = [mpf(0)] * p
    passive = {j: 0 for j in free}

    def minimum():
        k = sorted(passive)
        a = matrix([[h[i][j] for j in k] for i in k])
        r = matrix([c[i] - one[i] * passive[i] for i in k])
        s = lu_solve(a, r) if k else []
        return {k[i]: s[i] for i in range(len(k))}

    def descend():
        while passive:
            s = minimum()
            bad = [j for j in passive if passive[j] and s[j] * passive[j] <= 0]
            if not bad:
                for j in passive:
                    b[j] = s[j]
                return
            t = min(b[j] / (b[j] - s[j]) if b[j] != s[j] else mpf(0) for j in bad)
            for j in list(passive):
                b[j] += t * (s[j] - b[j])
                if passive[j] and b[j] * passive[j] <= TOLERANCE:
                    b[j] = mpf(0)
                    del passive[j]

    descend()
    for _ in range(200):
        g = [c[i] - fsum(h[i][j] * b[j] for j in range(p) if b[j]) for i in range(p)]
        size = max(abs(v) for v in c)
        over = [(abs(g[i]) - one[i], i) for i in range(p) if i not in passive and h[i][i] > 0 and
                (g[i] > 0 or not positive) and abs(g[i]) - one[i] > TOLERANCE * size]
        for i in passive:
            assert abs(g[i] - one[i] * passive[i]) < mpf(10) ** -40 * (1 + size), 'not a minimum'
        if not over:
            return b
        i = max(over)[1]
        passive[i] = 1 if g[i] > 0 else -1
        descend()
    raise RuntimeError('no minimum was found')


def fit(rows, fraction, alpha=1.0, penalty=None, positive=False, intercept=True, standardize=True):
    n, p, means, variances, gram = products(rows, intercept)
    factors = [mpf(1) if penalty is None or penalty[j] == INF else mpf(penalty[j]) for j in range(p)]
    factors = [f * p / sum(factors) for f in factors]
    used = [j for j in range(p) if variances[j] > 0 and (penalty is None or penalty[j] != INF)]
    scale = [sqrt(variances[j]) if standardize else mpf(1) for j in range(p)]
    # glmnet divides the response by this: without an intercept it isn't about the mean, while the features' are
    sd_y = sqrt(variances[p] if intercept else gram[p][p] / n)
    # the least lambda without a nonzero coefficient, but for what the unpenalised ones explain
    most = max(abs(gram[j][p]) / n / scale[j] / factors[j] for j in used if factors[j])
    lam = float(fraction * most / max(mpf(alpha), mpf('1e-3')))
    two = [mpf(lam) * factors[j] * (1 - mpf(alpha)) * scale[j] ** 2 / sd_y for j in range(p)]
    one = [mpf(lam) * factors[j] * mpf(alpha) * scale[j] for j in range(p)]
    h = [[gram[i][j] / n + (two[i] if i == j else 0) for j in used] for i in used]
    found = solve(h, [gram[i][p] / n for i in used], [one[i] for i in used],
                  [k for k, j in enumerate(used) if one[j] == 0 and not positive], positive)
    b = [mpf(0)] * p
    for k, j in enumerate(used):
        b[j] = found[k]
    first = [means[p] - fsum(means[j] * b[j] for j in range(p))] if intercept else []
    return lam, [float(v) for v in first + b]


def text(values):
    return None if values is None else '{' + ','.join('Infinity' if v == INF else repr(v) for v in values) + '}'


def main(folder):
    with open(os.path.join(folder, 'enet_rows.csv'), 'w', newline='') as rows_file, \
            open(os.path.join(folder, 'enet_fits.csv'), 'w', newline='') as fits_file:
        rows_out = csv.writer(rows_file, lineterminator='\n')
        fits_out = csv.writer(fits_file, lineterminator='\n')
        rows_out.writerow(['set', 'fold', 'y', 'x'])
        fits_out.writerow(['set', 'alpha', 'penalty', 'positive', 'intercept', 'standardize', 'lambda', 'coef'])
        for name, make, n, seed in SETS:
            g = Generator(seed)
            for _ in range(20):
                g.uniform()
            rows = []
            for k in range(n):
                x, y = make(g)
                rows.append(x + [y])
                rows_out.writerow([name, k % 5, repr(y), text(x)])
            for o in options_of(name):
                for fraction in FEW_ROWS if name == 'wide' else FRACTIONS:
                    lam, coef = fit(rows, fraction, **o)
                    fits_out.writerow([name, repr(o.get('alpha', 1.0)), text(o.get('penalty')),
                                       'ft'[o.get('positive', False)], 'ft'[o.get('intercept', True)],
                                       'ft'[o.get('standardize', True)], repr(lam), text(coef)])


if __name__ == '__main__':
    main(sys.argv[1])
