"""The best subset of each size, and steps forward and backward, in exact rationals: writes select_fits.csv.

    python3 test/data/select_reference.py test/data

Wants mpmath, for logarithms. All subsets of the features are solved; data are those of reference/mtcars.csv (mpg on the
ten others), reference/diabetes.csv, nist/longley.csv. A line a subset: the set, the method, the size, the columns from
1, RSS, R squared, adjusted R squared, Cp, AIC and BIC (the variance counted as a parameter, as R does), and whether
there is an intercept. select_reference.R compares with leaps and step().
"""
import csv
import itertools
import sys
from fractions import Fraction

from mpmath import log, mp, mpf, nstr, pi

mp.dps = 40

SETS = [("mtcars", "reference/mtcars.csv", "mpg"), ("diabetes", "reference/diabetes.csv", "y"),
        ("longley", "nist/longley.csv", "y")]


def read(path, response):
    with open(path) as file:
        rows = list(csv.reader(file))
    y = rows[0].index(response)
    numbers = [[Fraction(float(v)) for v in row] for row in rows[1:]]
    return [row[:y] + row[y + 1:] for row in numbers], [row[y] for row in numbers]


class Fits:
    """RSS of subsets, each solved once, by elimination in the products of (1,) x, y"""

    def __init__(self, x, y, intercept):
        rows = [([Fraction(1)] if intercept else []) + r + [v] for r, v in zip(x, y)]
        m = len(rows[0])
        self.n, self.p, self.first, self.known = len(y), len(x[0]), 1 if intercept else 0, {}
        self.products = [[sum(r[i] * r[j] for r in rows) for j in range(m)] for i in range(m)]

    def rss(self, subset):
        subset = tuple(sorted(subset))
        if subset not in self.known:
            entries = list(range(self.first)) + [k + self.first for k in subset] + [self.p + self.first]
            a = [[self.products[i][j] for j in entries] for i in entries]
            for k in range(len(a) - 1):
                for i in range(k + 1, len(a)):
                    if a[i][k]:
                        f = a[i][k] / a[k][k]
                        for j in range(k, len(a)):
                            a[i][j] -= f * a[k][j]
            self.known[subset] = a[-1][-1]
        return self.known[subset]

    def best(self, size):
        return min(itertools.combinations(range(self.p), size), key=self.rss)


def number(q):
    return mpf(q.numerator) / q.denominator


def line(fits, subset):
    n, k = fits.n, len(subset) + fits.first
    rss, tss, full = fits.rss(subset), fits.rss(()), fits.rss(range(fits.p))
    minus_twice = n * (log(2 * pi) + log(number(rss / n)) + 1)
    values = [number(rss), number(1 - rss / tss), number(1 - rss / tss * Fraction(n - fits.first, n - k)),
              number(rss * (n - fits.p - fits.first) / full - n + 2 * k), minus_twice + 2 * (k + 1),
              minus_twice + log(n) * (k + 1)]
    return [len(subset), "{%s}" % ",".join(str(c + 1) for c in sorted(subset))] + [nstr(v, 25) for v in values]


def main(folder):
    with open(folder + "/select_fits.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow("dataset,method,intercept,size,columns,rss,r_squared,adj_r_squared,cp,aic,bic".split(","))
        for name, path, response in SETS:
            x, y = read(folder + "/" + path, response)
            for intercept in (True, False):
                fits = Fits(x, y, intercept)
                everything = range(fits.p)
                for size in range(1 - fits.first, fits.p + 1):
                    out.writerow([name, "best", "ft"[intercept]] + line(fits, fits.best(size)))
                steps = [()]
                while len(steps) <= fits.p:
                    steps.append(min((steps[-1] + (k,) for k in everything if k not in steps[-1]), key=fits.rss))
                for subset in steps[1 - fits.first:]:
                    out.writerow([name, "forward", "ft"[intercept]] + line(fits, subset))
                steps = [tuple(everything)]
                while len(steps) <= fits.p:
                    steps.append(min((tuple(k for k in steps[-1] if k != d) for d in steps[-1]), key=fits.rss))
                for subset in steps[:fits.p + fits.first]:
                    out.writerow([name, "backward", "ft"[intercept]] + line(fits, subset))


main(sys.argv[1])
