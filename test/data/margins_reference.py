#!/usr/bin/env python3
"""Average marginal effects with standard errors by the delta method for test/sql/margins.sql, in 60 digits.

    python3 test/data/margins_reference.py test/data

writes margins_fits.csv there; the suite reads it, and needs neither Python nor mpmath. To change a case, change it
here, run this again with mpmath (1.2 or later), and commit the file. Two runs give the same bytes.

margins_fits.csv: model, term, estimate, std_error. A model is one of the suite's, over mtcars, infert, or a data set of
glm_rows.csv, as R's formula in each case says. Values are of the float8 numbers as they stand in the files, to 25
digits.

  fit        by scoring, until the gradient is 0 to 40 digits
  estimate   of a number the weighted average over the rows of dmu/dx; of a factor's level that of mu with the level in
             every row less mu with the first; of a boolean that of mu with 1 less mu with 0
  std_error  sqrt(J V J'), J the derivative of the estimate by the coefficients, V = dispersion (X'WX)^-1 with the
             expected information, as R's vcov of a glm
  dispersion sum w (y - mu)^2 / V(mu) / df_residual for gaussian, gamma and quasi families, else 1

The derivatives of each model's terms are written out by hand, case by case. Every estimate is
compared with a central difference of mu to 30 digits, and each element of J with one of the estimate to 18.
test/data/margins_reference.R makes the same with R's glm.
"""
import csv
import os
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 60
STEP = mpf(10) ** -20
SAME = mpf(10) ** -30


class Link:
    """The mean of a linear predictor, and its first and second derivative"""

    def __init__(self, mean, slope, curvature, inverse):
        self.mean, self.slope, self.curvature, self.inverse = mean, slope, curvature, inverse


def density(eta):
    return mpmath.exp(-eta * eta / 2) / mpmath.sqrt(2 * mp.pi)


def logistic(eta):
    return 1 / (1 + mpmath.exp(-eta))


LINKS = {
    "identity": Link(lambda e: e, lambda e: mpf(1), lambda e: mpf(0), lambda m: m),
    "log": Link(mpmath.exp, mpmath.exp, mpmath.exp, mpmath.log),
    "sqrt": Link(lambda e: e * e, lambda e: 2 * e, lambda e: mpf(2), mpmath.sqrt),
    "inverse": Link(lambda e: 1 / e, lambda e: -1 / e ** 2, lambda e: 2 / e ** 3, lambda m: 1 / m),
    "logit": Link(logistic, lambda e: logistic(e) * (1 - logistic(e)),
                  lambda e: logistic(e) * (1 - logistic(e)) * (1 - 2 * logistic(e)),
                  lambda m: mpmath.log(m / (1 - m))),
    "probit": Link(mpmath.ncdf, density, lambda e: -e * density(e),
                   lambda m: mpmath.sqrt(2) * mpmath.erfinv(2 * m - 1)),
    "cloglog": Link(lambda e: 1 - mpmath.exp(-mpmath.exp(e)), lambda e: mpmath.exp(e - mpmath.exp(e)),
                    lambda e: mpmath.exp(e - mpmath.exp(e)) * (1 - mpmath.exp(e)),
                    lambda m: mpmath.log(-mpmath.log(1 - m)))}

# the variance of a mean, whether the dispersion is estimated, and a first mean of a response
FAMILIES = {
    "gaussian": (lambda m: mpf(1), True, lambda y: y),
    "binomial": (lambda m: m * (1 - m), False, lambda y: (y + mpf("0.5")) / 2),
    "poisson": (lambda m: m, False, lambda y: y + mpf("0.1")),
    "quasipoisson": (lambda m: m, True, lambda y: y + mpf("0.1")),
    "gamma": (lambda m: m * m, True, lambda y: y),
    "negative binomial": (lambda m: m + m * m / 2, False, lambda y: y + mpf("0.1"))}


class Row(dict):
    """A row whose columns are attributes"""
    __getattr__ = dict.__getitem__

    def having(self, **values):
        return Row(self, **{name: mpf(v) for name, v in values.items()})


class Case:
    """x: the terms of a row; slopes: their derivatives by each number; steps: (name, values from, values to)"""

    def __init__(self, model, family, link, rows, y, x, slopes, steps=(), weight=None, offset=None, averaged=None):
        self.model, self.link, self.rows, self.x = model, LINKS[link], rows, x
        self.variance, self.estimated, self.first = FAMILIES[family]
        self.ys = [y(r) for r in rows]
        self.slopes, self.steps = slopes, steps
        self.weights = [weight(r) if weight else mpf(1) for r in rows]
        self.offsets = [offset(r) if offset else mpf(0) for r in rows]
        # the weights of the averages; none: each row counts 1
        self.shares = [averaged(r) if averaged else mpf(1) for r in rows]

    def eta(self, row, offset, beta):
        return offset + mpmath.fdot(self.x(row), beta)

    def fit(self):
        xs = [self.x(r) for r in self.rows]
        p = len(xs[0])
        etas = [self.link.inverse(self.first(y)) for y in self.ys]
        beta = None
        for _ in range(200):
            means = [self.link.mean(e) for e in etas]
            slopes = [self.link.slope(e) for e in etas]
            working = [w * s * s / self.variance(m) for w, s, m in zip(self.weights, slopes, means)]
            z = [e - o + (y - m) / s for e, o, y, m, s in zip(etas, self.offsets, self.ys, means, slopes)]
            information = mpmath.matrix(p, p)
            right = mpmath.matrix(p, 1)
            for x, w, v in zip(xs, working, z):
                for i in range(p):
                    right[i] += w * x[i] * v
                    for j in range(p):
                        information[i, j] += w * x[i] * x[j]
            new = mpmath.lu_solve(information, right)
            done = beta is not None and max(abs(a - b) / (abs(a) + SAME) for a, b in zip(new, beta)) < mpf(10) ** -42
            beta = list(new)
            etas = [self.eta(r, o, beta) for r, o in zip(self.rows, self.offsets)]
            if done:
                break
        assert done, self.model
        means = [self.link.mean(e) for e in etas]
        dispersion = mpf(1)
        if self.estimated:
            dispersion = mpmath.fsum(w * (y - m) ** 2 / self.variance(m) for w, y, m in
                                     zip(self.weights, self.ys, means)) / (len(xs) - p)
        return beta, dispersion * information ** -1

    def average(self, values):
        """Returns the averages of lists, one list per row."""
        total = mpmath.fsum(self.shares)
        return [mpmath.fsum(s * v for s, v in zip(self.shares, column)) / total for column in zip(*values)]

    def slope(self, name, beta):
        """Returns the estimate, followed by J."""
        parts = []
        for row, offset in zip(self.rows, self.offsets):
            eta, x, dx = self.eta(row, offset, beta), self.x(row), self.slopes[name](row)
            total = mpmath.fdot(dx, beta)
            slope, curvature = self.link.slope(eta), self.link.curvature(eta)
            parts.append([slope * total] + [curvature * a * total + slope * b for a, b in zip(x, dx)])
        return self.average(parts)

    def step(self, low, high, beta):
        parts = []
        for row, offset in zip(self.rows, self.offsets):
            a, b = row.having(**low), row.having(**high)
            eta_a, eta_b = self.eta(a, offset, beta), self.eta(b, offset, beta)
            parts.append([self.link.mean(eta_b) - self.link.mean(eta_a)] +
                         [self.link.slope(eta_b) * v - self.link.slope(eta_a) * u
                          for u, v in zip(self.x(a), self.x(b))])
        return self.average(parts)

    def mean_difference(self, low, high, beta):
        """Returns the average of mu over changed rows, without any derivative."""
        return self.average([[self.link.mean(self.eta(high(r), o, beta)) - self.link.mean(self.eta(low(r), o, beta))]
                             for r, o in zip(self.rows, self.offsets)])[0]

    def check(self, name, got, low, high, divisor, beta):
        def difference(b):
            return self.mean_difference(low, high, b) / divisor
        size = max(abs(v) for v in got)
        assert abs(difference(beta) - got[0]) < SAME * size, (self.model, name)
        for k in range(len(beta)):
            h = mpf(10) ** -14 * (abs(beta[k]) + 1)
            up, down = list(beta), list(beta)
            up[k] += h
            down[k] -= h
            numeric = (difference(up) - difference(down)) / (2 * h)
            assert abs(numeric - got[1 + k]) < mpf(10) ** -18 * size, (self.model, name, k)

    def lines(self):
        beta, vcov = self.fit()
        effects = [(name, self.slope(name, beta)) for name in self.slopes]
        for name, got in effects:
            self.check(name, got, lambda r: r.having(**{name: r[name] - STEP}),
                       lambda r: r.having(**{name: r[name] + STEP}), 2 * STEP, beta)
        for name, low, high in self.steps:
            got = self.step(low, high, beta)
            self.check(name, got, lambda r: r.having(**low), lambda r: r.having(**high), 1, beta)
            effects.append((name, got))
        for name, got in effects:
            j = mpmath.matrix(got[1:])
            yield name, got[0], mpmath.sqrt((j.T * vcov * j)[0])


def read(path, numbers=float):
    with open(path, newline="") as file:
        return [Row((k.replace(".", "_"), mpf(numbers(v))) for k, v in r.items()) for r in csv.DictReader(file)]


def read_glm_rows(path, dataset):
    with open(path, newline="") as file:
        return [Row(y=mpf(float(r["y"])), weight=mpf(float(r["weight"] or 1)), base=mpf(float(r["base"] or 0)),
                    **{f"x{k}": mpf(float(v)) for k, v in enumerate(r["x"].strip("{}").split(","), 1)})
                for r in csv.DictReader(file) if r["dataset"] == dataset]


def is_level(value, *levels):
    return [mpf(int(value == level)) for level in levels]


def cases(folder):
    cars = read(os.path.join(folder, "reference", "mtcars.csv"))
    infert = read(os.path.join(folder, "reference", "infert_case.csv"))
    beetles = read_glm_rows(os.path.join(folder, "glm_rows.csv"), "beetles")
    budworm = read_glm_rows(os.path.join(folder, "glm_rows.csv"), "budworm")
    cyl = (("cyl[6]", {"cyl": 4}, {"cyl": 6}), ("cyl[8]", {"cyl": 4}, {"cyl": 8}))

    def two(r):
        return [1, r.wt, r.hp]
    by_two = {"wt": lambda r: [0, 1, 0], "hp": lambda r: [0, 0, 1]}

    yield Case("linear", "gaussian", "identity", cars, lambda r: r.mpg, two, by_two)
    # mpg ~ poly(hp, 3) + wt * qsec
    yield Case("polynomial", "gaussian", "identity", cars, lambda r: r.mpg,
               lambda r: [1, r.hp, r.hp ** 2, r.hp ** 3, r.wt, r.qsec, r.wt * r.qsec],
               {"hp": lambda r: [0, 1, 2 * r.hp, 3 * r.hp ** 2, 0, 0, 0],
                "wt": lambda r: [0, 0, 0, 0, 1, 0, r.qsec], "qsec": lambda r: [0, 0, 0, 0, 0, 1, r.wt]})
    # mpg ~ wt * factor(cyl) + qsec
    yield Case("factor", "gaussian", "identity", cars, lambda r: r.mpg,
               lambda r: [1, r.wt, r.qsec] + is_level(r.cyl, 6, 8) + [r.wt * v for v in is_level(r.cyl, 6, 8)],
               {"wt": lambda r: [0, 1, 0, 0, 0] + is_level(r.cyl, 6, 8), "qsec": lambda r: [0, 0, 1, 0, 0, 0, 0]}, cyl)
    # mpg ~ wt:cyl + factor(cyl), cyl being both
    yield Case("number and factor", "gaussian", "identity", cars, lambda r: r.mpg,
               lambda r: [1] + is_level(r.cyl, 6, 8) + [r.wt * r.cyl], {"wt": lambda r: [0, 0, 0, r.cyl]}, cyl)
    # mpg ~ wt * manual, a boolean
    yield Case("boolean", "gaussian", "identity", cars, lambda r: r.mpg,
               lambda r: [1, r.wt, r.am, r.wt * r.am], {"wt": lambda r: [0, 1, 0, r.am]},
               (("manual", {"am": 0}, {"am": 1}),))
    # mpg ~ poly(wt, 2):factor(cyl) - 1
    yield Case("powers by level", "gaussian", "log", cars, lambda r: r.mpg,
               lambda r: [v * i for i in is_level(r.cyl, 4, 6, 8) for v in (r.wt, r.wt ** 2)],
               {"wt": lambda r: [v * i for i in is_level(r.cyl, 4, 6, 8) for v in (1, 2 * r.wt)]}, cyl)
    yield Case("gaussian log", "gaussian", "log", cars, lambda r: r.mpg, two, by_two)
    yield Case("gaussian inverse", "gaussian", "inverse", cars, lambda r: r.mpg, two, by_two)
    yield Case("logit", "binomial", "logit", cars, lambda r: r.am, two, by_two)
    yield Case("probit", "binomial", "probit", cars, lambda r: r.vs, lambda r: [1, r.wt], {"wt": lambda r: [0, 1]})
    yield Case("cloglog", "binomial", "cloglog", cars, lambda r: r.vs, lambda r: [1, r.wt], {"wt": lambda r: [0, 1]})
    # case ~ factor(spontaneous) * age + parity
    for link in ("logit", "probit", "cloglog"):
        yield Case("infert " + link, "binomial", link, infert, lambda r: r.case,
                   lambda r: [1, r.age, r.parity] + is_level(r.spontaneous, 1, 2) +
                   [r.age * v for v in is_level(r.spontaneous, 1, 2)],
                   {"age": lambda r: [0, 1, 0, 0, 0] + is_level(r.spontaneous, 1, 2),
                    "parity": lambda r: [0, 0, 1, 0, 0, 0, 0]},
                   (("spontaneous[1]", {"spontaneous": 0}, {"spontaneous": 1}),
                    ("spontaneous[2]", {"spontaneous": 0}, {"spontaneous": 2})))
    # carb ~ wt * hp
    yield Case("poisson", "poisson", "log", cars, lambda r: r.carb, lambda r: [1, r.wt, r.hp, r.wt * r.hp],
               {"wt": lambda r: [0, 1, 0, r.hp], "hp": lambda r: [0, 0, 1, r.wt]})
    yield Case("poisson factor", "poisson", "log", cars, lambda r: r.carb,
               lambda r: [1, r.wt] + is_level(r.cyl, 6, 8), {"wt": lambda r: [0, 1, 0, 0]}, cyl)
    yield Case("poisson sqrt", "poisson", "sqrt", cars, lambda r: r.carb, two, by_two)
    yield Case("poisson identity", "poisson", "identity", cars, lambda r: r.carb, lambda r: [1, r.hp],
               {"hp": lambda r: [0, 1]})
    # carb ~ wt, with the offset hp / 128
    yield Case("poisson offset", "poisson", "log", cars, lambda r: r.carb, lambda r: [1, r.wt],
               {"wt": lambda r: [0, 1]}, offset=lambda r: r.hp / 128)
    yield Case("quasipoisson", "quasipoisson", "log", cars, lambda r: r.carb, two, by_two)
    yield Case("gamma inverse", "gamma", "inverse", cars, lambda r: r.mpg, two, by_two)
    # mpg ~ poly(wt, 2) * hp
    yield Case("gamma log", "gamma", "log", cars, lambda r: r.mpg,
               lambda r: [1, r.wt, r.wt ** 2, r.hp, r.wt * r.hp, r.wt ** 2 * r.hp],
               {"wt": lambda r: [0, 1, 2 * r.wt, 0, r.hp, 2 * r.wt * r.hp],
                "hp": lambda r: [0, 0, 0, 1, r.wt, r.wt ** 2]})
    yield Case("gamma identity", "gamma", "identity", cars, lambda r: r.mpg, lambda r: [1, r.wt],
               {"wt": lambda r: [0, 1]})
    yield Case("negative binomial", "negative binomial", "log", cars, lambda r: r.carb, two, by_two)
    # shares of trials: averages over rows, and over trials
    for link in ("logit", "probit", "cloglog"):
        for averaged in (None, lambda r: r.weight):
            yield Case(f"beetles {link}" + (" by trials" if averaged else ""), "binomial", link, beetles,
                       lambda r: r.y, lambda r: [1, r.x1], {"x1": lambda r: [0, 1]}, weight=lambda r: r.weight,
                       averaged=averaged)
    # features as they are: the product of the first two is one by itself
    yield Case("budworm", "binomial", "logit", budworm, lambda r: r.y, lambda r: [1, r.x1, r.x2, r.x3],
               {"x1": lambda r: [0, 1, 0, 0], "x2": lambda r: [0, 0, 1, 0], "x3": lambda r: [0, 0, 0, 1]},
               weight=lambda r: r.weight)


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "margins_fits.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["model", "term", "estimate", "std_error"])
        for case in cases(folder):
            for name, estimate, error in case.lines():
                out.writerow([case.model, name, mpmath.nstr(estimate, 25), mpmath.nstr(error, 25)])


if __name__ == "__main__":
    main()
