#!/usr/bin/env python3
"""Fits with weights, frequencies and offsets for test/sql/weights.sql, in 60 digits.

    python3 test/data/weights_reference.py test/data

writes weights_rows.csv and weights_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To
change a case, change it here, run this again with mpmath (1.2 or later), and commit both files. Two runs give the same
bytes.

weights_rows.csv: dataset, y, weight, frequency, base, x. A column that a dataset doesn't have is empty; base is the
offset of the linear predictor, x an array in PostgreSQL's form. Numbers are float8 in their shortest form, so that
strtod reads them back exactly.

weights_fits.csv: dataset, kind, intercept, term, estimate, std_error. Terms are numbers, 0 being the intercept, 1 the
first feature; a term that is collinear with earlier ones has no estimate. The other lines are the fit's n, df_residual,
rank, deviance, null_deviance, log_lik, aic, bic, and for kind ols sigma, r_squared, adj_r_squared and f_statistic.
They are of the float8 values exactly as they stand, to 25 digits. What a case doesn't determine (R2 of rows without an
intercept about 0, and so on) follows R's lm, glm and logLik:

  weights      ols: minimises sum w r^2; sigma^2 = sum w r^2 / (n - rank), n counting rows of positive weight;
               log-likelihood (sum log w - n (log(2 pi) + 1 - log n + log sum w r^2)) / 2, rank + 1 parameters.
               logistic: y is a share of w trials; deviance 2 sum w (y log(y / mu) + (1 - y) log((1 - y) / (1 - mu)));
               log-likelihood sum log dbinom(w y; w, mu), with the gamma function for factorials; rank parameters.
  frequencies  each row as if it stood that often
  offset       logistic: added to the linear predictor. The null deviance is that of intercept and offset, or of the
               offset alone without an intercept.

Every fit asserts that its gradient is 0 to 40 digits, and is made again in 90 digits: the 25 that are kept must be the
same. Cases with published output are compared with it, as far as that was printed.
"""
import csv
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

DIGITS = 60
CHECK_DIGITS = 90
ZERO = mpf(10) ** -40
MAX_ETA = 60


#
# Linear algebra, on Gram matrices whose columns are scaled to length 1
#

def cholesky(a):
    """The lower factor of a list of lists"""
    p = len(a)
    lower = [[mpf(0)] * p for _ in range(p)]
    for i in range(p):
        for j in range(i + 1):
            s = a[i][j] - mpmath.fsum(lower[i][k] * lower[j][k] for k in range(j))
            assert i != j or s > mpf(10) ** -50, "singular"
            lower[i][j] = mpmath.sqrt(s) if i == j else s / lower[j][j]
    return lower


class Gram:
    """sum of w x x', and what is solved with it"""

    def __init__(self, rows, weights):
        p = len(rows[0])
        g = [[mpmath.fsum(w * x[i] * x[j] for x, w in zip(rows, weights)) for j in range(p)] for i in range(p)]
        self.scale = [1 / mpmath.sqrt(g[i][i]) for i in range(p)]
        self.lower = cholesky([[g[i][j] * self.scale[i] * self.scale[j] for j in range(p)] for i in range(p)])

    def solve(self, right):
        p = len(right)
        z = []
        for i in range(p):
            known = mpmath.fsum(self.lower[i][k] * z[k] for k in range(i))
            z.append((right[i] * self.scale[i] - known) / self.lower[i][i])
        x = [mpf(0)] * p
        for i in reversed(range(p)):
            x[i] = (z[i] - mpmath.fsum(self.lower[k][i] * x[k] for k in range(i + 1, p))) / self.lower[i][i]
        return [v * s for v, s in zip(x, self.scale)]

    def inverse_diagonal(self):
        p = len(self.scale)
        return [self.solve([mpf(int(i == j)) for j in range(p)])[i] for i in range(p)]


def dot(a, b):
    return mpmath.fsum(u * v for u, v in zip(a, b))


def cross(rows, values):
    return [mpmath.fsum(x[j] * v for x, v in zip(rows, values)) for j in range(len(rows[0]))]


def assert_zero_gradient(rows, values, name):
    """sum of x v is 0 beside sum of |x v|, for each column"""
    for j, g in enumerate(cross(rows, values)):
        size = mpmath.fsum(abs(x[j] * v) for x, v in zip(rows, values))
        assert abs(g) <= ZERO * size or size < ZERO, (name, j, g)


#
# The fits
#

def fit_linear(case, rows, z):
    ys, ws, fs = ([r[k] for r in rows] for k in ("y", "weight", "frequency"))
    both = [w * f for w, f in zip(ws, fs)]
    p, n = len(z[0]), mpmath.fsum(fs)
    g = Gram(z, both)
    beta = g.solve(cross(z, [v * y for v, y in zip(both, ys)]))
    for _ in range(2):
        residuals = [y - dot(x, beta) for x, y in zip(z, ys)]
        beta = [b + c for b, c in zip(beta, g.solve(cross(z, [v * r for v, r in zip(both, residuals)])))]
    residuals = [y - dot(x, beta) for x, y in zip(z, ys)]
    assert_zero_gradient(z, [v * r for v, r in zip(both, residuals)], case.name)
    rss = mpmath.fsum(v * r * r for v, r in zip(both, residuals))
    mean = dot(both, ys) / mpmath.fsum(both) if case.intercept else mpf(0)
    tss = mpmath.fsum(v * (y - mean) ** 2 for v, y in zip(both, ys))
    df, one = n - p, int(case.intercept)
    log_w = mpmath.fsum(f * mpmath.log(w) for w, f in zip(ws, fs))
    log_lik = (log_w - n * (mpmath.log(2 * mp.pi) + 1 - mpmath.log(n) + mpmath.log(rss))) / 2
    r2 = 1 - rss / tss
    stats = summary(n, p, rss, tss, log_lik, p + 1)
    stats.update(sigma=mpmath.sqrt(rss / df), r_squared=r2, adj_r_squared=1 - (1 - r2) * (n - one) / df)
    if p > one:
        stats.update(f_statistic=(tss - rss) / (p - one) / (rss / df))
    return beta, [mpmath.sqrt(rss / df * v) for v in g.inverse_diagonal()], stats


def summary(n, rank, deviance, null_deviance, log_lik, parameters):
    return {"n": n, "df_residual": n - rank, "rank": mpf(rank), "deviance": deviance, "null_deviance": null_deviance,
            "log_lik": log_lik, "aic": 2 * parameters - 2 * log_lik, "bic": parameters * mpmath.log(n) - 2 * log_lik}


def logistic(eta):
    return 1 / (1 + mpmath.exp(-eta))


def half_deviance(etas, ys, ws):
    """Returns the function that Newton's method minimises: sum w (log(1 + exp(eta)) - y eta)"""
    return mpmath.fsum(w * (mpmath.log1p(mpmath.exp(-abs(e))) + max(e, 0) - y * e) for e, y, w in zip(etas, ys, ws))


def newton(z, ys, ws, base, name):
    """(coefficients, Gram matrix there)"""
    beta = [mpf(0)] * len(z[0])
    if all(x[0] == 1 for x in z):
        beta[0] = -mpmath.fsum(base) / len(base)
    etas = [o + dot(x, beta) for o, x in zip(base, z)]
    value = half_deviance(etas, ys, ws)
    for _ in range(200):
        mus = [logistic(e) for e in etas]
        g = Gram(z, [w * m * (1 - m) for w, m in zip(ws, mus)])
        gradient = cross(z, [w * (y - m) for w, y, m in zip(ws, ys, mus)])
        step = g.solve(gradient)
        decrement = mpmath.sqrt(abs(dot(gradient, step)))
        if decrement < mpf(10) ** -48:
            assert max(abs(e) for e in etas) < MAX_ETA, (name, "estimates run off")
            assert_zero_gradient(z, [w * (y - m) for w, y, m in zip(ws, ys, mus)], name)
            return beta, g
        while True:
            new = [b + s for b, s in zip(beta, step)]
            etas = [o + dot(x, new) for o, x in zip(base, z)]
            new_value = half_deviance(etas, ys, ws)
            if new_value <= value or decrement < mpf(10) ** -20:
                break
            step = [s / 2 for s in step]
        beta, value = new, new_value
    raise AssertionError((name, "no convergence"))


def deviance_of(mus, ys, ws):
    def part(y, m):
        return y * mpmath.log(y / m) if y != 0 else mpf(0)
    total = 2 * mpmath.fsum(w * (part(y, m) + part(1 - y, 1 - m)) for m, y, w in zip(mus, ys, ws))
    return mpf(0) if abs(total) < ZERO else total


def log_dbinom(y, w, mu):
    choose = mpmath.loggamma(w + 1) - mpmath.loggamma(w * y + 1) - mpmath.loggamma(w * (1 - y) + 1)
    return choose + (w * y * mpmath.log(mu) if y != 0 else 0) + (w * (1 - y) * mpmath.log(1 - mu) if y != 1 else 0)


def fit_logistic(case, rows, z):
    ys, ws, fs, base = ([r[k] for r in rows] for k in ("y", "weight", "frequency", "base"))
    both = [w * f for w, f in zip(ws, fs)]
    assert all(0 <= y <= 1 for y in ys) and (case.weighted or all(y in (0, 1) for y in ys))
    beta, g = newton(z, ys, both, base, case.name)
    mus = [logistic(o + dot(x, beta)) for o, x in zip(base, z)]
    if case.intercept:
        ones = [[mpf(1)] for _ in rows]
        level = newton(ones, ys, both, base, case.name)[0][0]
        null = [logistic(o + level) for o in base]
    else:
        null = [logistic(o) for o in base]
    n = mpmath.fsum(fs)
    log_lik = mpmath.fsum(f * log_dbinom(y, w, m) for y, w, f, m in zip(ys, ws, fs, mus))
    stats = summary(n, len(beta), deviance_of(mus, ys, both), deviance_of(null, ys, both), log_lik, len(beta))
    return beta, [mpmath.sqrt(v) for v in g.inverse_diagonal()], stats


class Case:
    """Rows, each (y, x, {weight, frequency, base}), what kind of fit, and which columns are collinear"""

    def __init__(self, name, kind, rows, intercept=True, aliased=(), published=None):
        self.name, self.kind, self.intercept, self.aliased, self.published = name, kind, intercept, aliased, published
        self.rows = [(float(y), tuple(map(float, x)), {k: float(v) for k, v in roles.items()}) for y, x, roles in rows]
        self.weighted = "weight" in self.rows[0][2]
        assert all(roles.keys() == self.rows[0][2].keys() for _, _, roles in self.rows), name

    def taking_part(self):
        """The rows that count, as numbers of the working precision"""
        rows = []
        for y, x, roles in self.rows:
            row = {"weight": 1.0, "frequency": 1.0, "base": 0.0, **roles}
            if row["weight"] > 0 and row["frequency"] > 0:
                rows.append({"y": mpf(y), "x": [mpf(v) for v in x], **{k: mpf(v) for k, v in row.items()}})
        return rows

    def terms(self):
        return [*range(0 if self.intercept else 1, len(self.rows[0][1]) + 1)]

    def design(self, rows, terms):
        return [[mpf(1) if j == 0 else r["x"][j - 1] for j in terms] for r in rows]

    def assert_aliased(self, rows, kept):
        """Each column that is said to be collinear lies in the span of the others, where rows count"""
        for j in self.aliased:
            before = [k for k in kept if k < j]
            z, column = self.design(rows, before), [r["x"][j - 1] for r in rows]
            g = Gram(z, [mpf(1)] * len(rows))
            b = g.solve(cross(z, column))
            left = [v - dot(x, b) for x, v in zip(z, column)]
            assert dot(left, left) <= ZERO * dot(column, column), (self.name, j)

    def fit(self):
        """[(term, estimate, std_error)] as text"""
        rows, terms = self.taking_part(), self.terms()
        kept = [j for j in terms if j not in self.aliased]
        self.assert_aliased(rows, kept)
        beta, errors, stats = (fit_linear if self.kind == "ols" else fit_logistic)(self, rows, self.design(rows, kept))
        estimates = dict(zip(kept, zip(beta, errors)))
        lines = [(str(j),) + tuple(mpmath.nstr(v, 25) for v in estimates[j]) if j in estimates else (str(j), "", "")
                 for j in terms]
        return lines + [(name, number(v), "") for name, v in stats.items()]


def number(v):
    return str(int(v)) if v == int(v) and abs(v) < 1e18 else mpmath.nstr(v, 25)


#
# Published fits: the data, and what was printed
#

# C. Bliss (1935), The calculation of the dosage-mortality curve. Dose, beetles, killed; the fit from A. Dobson, An
# introduction to generalized linear models, 2nd ed. (2002), 7.3; the null deviance and AIC as R's glm has them.
BEETLES = ((1.6907, 59, 6), (1.7242, 60, 13), (1.7552, 62, 18), (1.7842, 56, 28), (1.8113, 63, 52), (1.8369, 59, 53),
           (1.8610, 62, 61), (1.8839, 60, 60))
# D. Collett (1991), Modelling binary data, p. 75; the fit from W. Venables and B. Ripley, Modern applied statistics
# with S, 4th ed. (2002), 7.2. Male and female budworms of 20 killed, at doses 2^0 .. 2^5.
BUDWORMS = ((1, 4, 9, 13, 18, 20), (0, 2, 6, 10, 12, 16))
# MASS's menarche, from Milicer and Szczotka (1966); the fit as R prints it. Age, girls, those who have reached it.
MENARCHE = ((9.21, 376, 0), (10.21, 200, 0), (10.58, 93, 0), (10.83, 120, 2), (11.08, 90, 2), (11.33, 88, 5),
            (11.58, 105, 10), (11.83, 111, 17), (12.08, 100, 16), (12.33, 93, 29), (12.58, 100, 39), (12.83, 108, 51),
            (13.08, 99, 47), (13.33, 106, 67), (13.58, 105, 81), (13.83, 117, 88), (14.08, 98, 79), (14.33, 97, 90),
            (14.58, 120, 113), (14.83, 102, 95), (15.08, 122, 117), (15.33, 111, 107), (15.58, 94, 92),
            (15.83, 114, 112), (17.58, 1049, 1049))
# R's UCBAdmissions, Bickel, Hammel and O'Connell (1975): admitted and rejected, men and women, departments A .. F. The
# fit of admission by gender (1 for women) and department, as R prints it.
BERKELEY = ((512, 313, 89, 19), (353, 207, 17, 8), (120, 205, 202, 391), (138, 279, 131, 244), (53, 138, 94, 299),
            (22, 351, 24, 317))
# S. Weisberg, Applied linear regression, 3rd ed. (2005), 5.1, tables 5.1 and 5.2: the strong interaction data, x, y and
# the standard deviation of y, weighted by 1 / SD^2
PHYSICS = ((.345, 367, 17), (.287, 311, 9), (.251, 295, 9), (.225, 268, 7), (.207, 253, 7), (.186, 239, 6),
           (.161, 220, 6), (.132, 213, 6), (.084, 193, 5), (.060, 192, 5))


def berkeley_x(department, woman):
    return [woman] + [int(department == d) for d in range(1, 6)]


def berkeley_shares():
    for d, (m1, m0, w1, w0) in enumerate(BERKELEY):
        for woman, ones, zeros in (0, m1, m0), (1, w1, w0):
            yield ones / (ones + zeros), berkeley_x(d, woman), {"weight": ones + zeros}


def berkeley_cells(role):
    for d, (m1, m0, w1, w0) in enumerate(BERKELEY):
        for woman, ones, zeros in (0, m1, m0), (1, w1, w0):
            yield 1, berkeley_x(d, woman), {role: ones}
            yield 0, berkeley_x(d, woman), {role: zeros}


BERKELEY_FIT = (("0", "0.58205", "0.06899"), ("1", "0.09987", "0.08085"), ("2", "-0.04340", "0.10984"),
                ("3", "-1.26260", "0.10663"), ("4", "-1.29461", "0.10582"), ("5", "-1.73931", "0.12611"),
                ("6", "-3.30648", "0.16998"))


def published_cases():
    yield Case("physics", "ols", [(y, [x], {"weight": 1 / sd ** 2}) for x, y, sd in PHYSICS],
               published=(("0", "148.473", "8.079"), ("1", "530.835", "47.550"), ("sigma", "1.657"),
                          ("r_squared", "0.9397")))
    yield Case("budworm", "logistic",
               [(dead / 20, [male, dose, male * dose], {"weight": 20})
                for male, deaths in zip((1, 0), BUDWORMS) for dose, dead in enumerate(deaths)],
               published=(("0", "-2.9935", "0.5527"), ("1", "0.1750", "0.7783"), ("2", "0.9060", "0.1671"),
                          ("3", "0.3529", "0.2700"), ("null_deviance", "124.8756"), ("deviance", "4.9937"),
                          ("aic", "43.104")))
    yield Case("beetles", "logistic", [(dead / n, [dose], {"weight": n}) for dose, n, dead in BEETLES],
               published=(("0", "-60.717", "5.181"), ("1", "34.270", "2.912"), ("null_deviance", "284.202"),
                          ("deviance", "11.232"), ("aic", "41.43")))
    yield Case("menarche", "logistic", [(reached / n, [age], {"weight": n}) for age, n, reached in MENARCHE],
               published=(("0", "-21.22639", "0.77068"), ("1", "1.63197", "0.05895"), ("null_deviance", "3693.884"),
                          ("deviance", "26.703"), ("aic", "114.76")))
    yield Case("berkeley shares", "logistic", berkeley_shares(),
               published=BERKELEY_FIT + (("null_deviance", "877.056"), ("deviance", "20.204"), ("aic", "103.14")))
    yield Case("berkeley weights", "logistic", berkeley_cells("weight"),
               published=BERKELEY_FIT + (("null_deviance", "6044.3"), ("deviance", "5187.5"), ("aic", "5201.5")))
    yield Case("berkeley frequencies", "logistic", berkeley_cells("frequency"),
               published=BERKELEY_FIT + (("null_deviance", "6044.3"), ("deviance", "5187.5"), ("aic", "5201.5")))


#
# Cases that were made up, with generators of fixed seeds
#

def numbers(seed, n):
    """n rows of (u1, u2, u3, noise), with two decimals"""
    g = random.Random(seed)
    return [tuple(round(g.uniform(-2, 2), 2) for _ in range(4)) for _ in range(n)]


def linear_cases():
    plain = numbers(20260201, 60)
    response = [round(3 + 2 * a - b + 0.5 * c + e, 3) for a, b, c, e in plain]
    rows = [(y, (a, b, c)) for y, (a, b, c, _) in zip(response, plain)]
    magnitudes = [float("%de%d" % (1 + i % 9, i * 7 % 13 - 6)) for i in range(60)]
    for name, intercept in ("magnitudes", True), ("magnitudes, no intercept", False):
        yield Case(name, "ols", [(y, x, {"weight": w}) for (y, x), w in zip(rows, magnitudes)], intercept)
    fractions = [round(0.1 + (i * 37 % 60) / 7, 3) for i in range(60)]
    yield Case("some weights of 1", "ols",
               [(y, x, {"weight": 1 if i % 2 else w}) for i, ((y, x), w) in enumerate(zip(rows, fractions))])
    # rows of weight 0 may have any values, however far out
    for name, intercept in ("zeros", True), ("zeros, no intercept", False):
        yield Case(name, "ols", [(-1e9 if i % 3 == 0 else y, (1e9, -7, 1e5) if i % 3 == 0 else x,
                                  {"weight": 0 if i % 3 == 0 else w})
                                 for i, ((y, x), w) in enumerate(zip(rows, fractions))], intercept)
    years = [(2.5 * i + e, (1950 + i, (1950 + i) ** 2)) for i, (_, _, _, e) in enumerate(plain)]
    for name, intercept in ("years", True), ("years, no intercept", False):
        yield Case(name, "ols", [(y, x, {"weight": w}) for (y, x), w in zip(years, fractions)], intercept)
    yield Case("far from 0", "ols",
               [(1e9 + 2 * a + e, (1e12 + a, 1e7 + b), {"weight": w}) for (a, b, _, e), w in zip(plain, magnitudes)])
    # collinear only where rows count
    yield Case("collinear", "ols",
               [(y, (a, b, a + b + (i % 3 == 0), c), {"weight": 0 if i % 3 == 0 else w})
                for i, ((y, (a, b, c)), w) in enumerate(zip(quarters(rows), fractions))], aliased=(3,))
    yield Case("nearly collinear", "ols",
               [(y, (a, a + 1e-6 * c, b), {"weight": w}) for (y, (a, b, c)), w in zip(rows, fractions)])
    frequencies = [i * 7 % 5 for i in range(60)]
    for name, intercept in ("frequencies", True), ("frequencies, no intercept", False):
        yield Case(name, "ols", [(y, x, {"frequency": f}) for (y, x), f in zip(rows, frequencies)], intercept)
    yield Case("frequencies, billions", "ols",
               [(y, x, {"frequency": 10 ** (i % 10) + i}) for i, (y, x) in enumerate(rows)])
    yield Case("frequencies, collinear", "ols",
               [(y, (a, b, a - b), {"frequency": f}) for (y, (a, b, _)), f in zip(quarters(rows), frequencies)],
               aliased=(3,))


def quarters(rows):
    """The features rounded so that float8 has their sums exactly"""
    return [(y, tuple(round(4 * v) / 4 for v in x)) for y, x in rows]


def logistic_cases():
    g = random.Random(20260202)
    plain = numbers(20260203, 80)
    chances = [1 / (1 + 2.718281828 ** -(0.4 + a - 0.7 * b + 0.3 * c)) for a, b, c, _ in plain]
    classes = [int(g.random() < chance) for chance in chances]
    rows = [(y, (a, b, c)) for y, (a, b, c, _) in zip(classes, plain)]
    fractions = [round(0.1 + (i * 37 % 80) / 9, 3) for i in range(80)]
    frequencies = [i * 7 % 5 for i in range(80)]
    bases = [round(2 * e + 0.5, 2) for _, _, _, e in plain]
    exposures = [round(0.2 + (i * 53 % 80) / 5, 1) for i in range(80)]
    for name, intercept in ("fractions", True), ("fractions, no intercept", False):
        yield Case(name, "logistic", [(y, x, {"weight": w}) for (y, x), w in zip(rows, fractions)], intercept)
    yield Case("classes, zeros", "logistic",
               [(int(i % 2 == 0) if i % 4 == 0 else y, (1e9, -7, 1e5) if i % 4 == 0 else x,
                 {"weight": 0 if i % 4 == 0 else w}) for i, ((y, x), w) in enumerate(zip(rows, fractions))])
    # powers of 2 as weights over many magnitudes
    yield Case("classes, magnitudes", "logistic",
               [(y, x, {"weight": 2.0 ** (i * 7 % 25 - 12)}) for i, (y, x) in enumerate(rows)])
    yield from trial_cases(g, plain, chances)
    # shares of trials that aren't whole
    yield Case("fractions of fractions", "logistic",
               [(round(0.02 + 0.96 * abs(chance - 0.1 * (i % 3)), 3), (a, b, c), {"weight": w})
                for i, ((a, b, c, _), chance, w) in enumerate(zip(plain, chances, fractions))])
    for name, intercept in ("class frequencies", True), ("class frequencies, no intercept", False):
        yield Case(name, "logistic", [(y, x, {"frequency": f}) for (y, x), f in zip(rows, frequencies)], intercept)
    yield Case("class frequencies, billions", "logistic",
               [(y, x, {"frequency": 10 ** (i * 7 % 10) + i}) for i, (y, x) in enumerate(rows)])
    for name, intercept in ("offset", True), ("offset, no intercept", False):
        yield Case(name, "logistic", [(y, x, {"base": o}) for (y, x), o in zip(rows, bases)], intercept)
    exposed = [float(mpmath.log(e)) for e in exposures]
    for name, intercept in ("log exposure", True), ("log exposure, no intercept", False):
        yield Case(name, "logistic", [(y, x, {"base": o}) for (y, x), o in zip(rows, exposed)], intercept)
    yield Case("offset far from 0", "logistic", [(y, x, {"base": 1000 + o}) for (y, x), o in zip(rows, bases)])
    for name, intercept in ("weights and offset", True), ("weights and offset, no intercept", False):
        yield Case(name, "logistic",
                   [(y, x, {"weight": w, "base": o}) for (y, x), w, o in zip(rows, fractions, bases)], intercept)
    yield Case("frequencies and offset", "logistic",
               [(y, x, {"frequency": f, "base": o}) for (y, x), f, o in zip(rows, frequencies, bases)])
    yield Case("logistic, collinear", "logistic",
               [(y, (a, b, a - b + (i % 4 == 0), c), {"weight": 0 if i % 4 == 0 else w})
                for i, ((y, (a, b, c)), w) in enumerate(zip(quarters(rows), fractions))], aliased=(3,))
    yield Case("logistic, nearly collinear", "logistic",
               [(y, (a, a + 1e-6 * c, b), {"weight": w, "base": o})
                for (y, (a, b, c)), w, o in zip(rows, fractions, bases)])
    yield Case("logistic, years", "logistic",
               [(y, (1950 + i % 40, b), {"weight": w}) for i, ((y, (_, b, _)), w) in enumerate(zip(rows, fractions))])
    # x is separated by the rows of a whole class; one row is a share of both
    yield Case("share against separation", "logistic",
               [(0, (1,), {"weight": 2}), (0, (2,), {"weight": 3.5}), (0.25, (3,), {"weight": 1.5}),
                (1, (4,), {"weight": 2}), (1, (5,), {"weight": 0.5}), (0.75, (2.5,), {"weight": 4})])


def trial_cases(g, plain, chances):
    """Shares of whole trials"""
    def shares(trials):
        for (a, b, c, e), chance, n in zip(plain, chances, trials):
            chance = min(max(chance + 0.03 * e, 0.01), 0.99)
            yield round(n * chance) / n, (a, b, c), {"weight": n}

    yield Case("trials", "logistic", shares([1 + i * 11 % 17 for i in range(80)]))
    yield Case("trials, no intercept", "logistic", shares([1 + i * 11 % 17 for i in range(80)]), False)
    yield Case("trials, many", "logistic", shares([10 ** (i % 7) for i in range(80)]))
    # about as many ones as the model has it, so that the deviance is some parts in a million of its terms
    yield Case("trials, a million", "logistic",
               [(round(1e6 * chance + 500 * g.uniform(-1, 1)) / 1e6, (a, b, c), {"weight": 1e6})
                for (a, b, c, _), chance in zip(plain[:20], chances)])
    yield Case("trials, perfect", "logistic",
               [(0.25 if i % 2 else 0.875, (i % 2,), {"weight": 8 * (1 + i)}) for i in range(6)])
    yield Case("trials, all or none", "logistic",
               [(int(g.random() < chance), (a, b), {"weight": 1 + i % 6})
                for i, ((a, b, _, _), chance) in enumerate(zip(plain[:40], chances))])


#
# The files
#

def assert_published(case, lines):
    """Every printed digit is the fit's, but for one unit in the last place: R's glm stops at a change of 1e-8"""
    found = {term: values for term, *values in lines}
    for term, *printed in case.published or ():
        for value, text in zip(found[term], printed):
            decimals = len(text.partition(".")[2])
            off = abs(mpf(value) - mpf(text)) * mpf(10) ** decimals
            assert off <= 1, (case.name, term, value, text)


def text(value):
    return "" if value is None else "%d" % value if value == int(value) and abs(value) < 1e15 else repr(value)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(os.path.join(sys.argv[1], "weights_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "weights_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", "weight", "frequency", "base", "x"))
        fits_csv.writerow(("dataset", "kind", "intercept", "term", "estimate", "std_error"))
        for make in published_cases, linear_cases, logistic_cases:
            for case in make():
                with mp.workdps(DIGITS):
                    lines = case.fit()
                with mp.workdps(CHECK_DIGITS):
                    assert case.fit() == lines, (case.name, "60 digits are too few")
                with mp.workdps(DIGITS):
                    assert_published(case, lines)
                for y, x, roles in case.rows:
                    values = [y] + [roles.get(k) for k in ("weight", "frequency", "base")]
                    assert all(v is None or float(text(v)) == v for v in values + list(x))
                    rows_csv.writerow([case.name, *map(text, values), "{%s}" % ",".join(map(text, x))])
                fits_csv.writerows((case.name, case.kind, "ft"[case.intercept], *line) for line in lines)
                print("%-35s %3d rows, %d terms%s" % (case.name, len(case.rows), len(case.terms()),
                                                      ", as published" if case.published else ""))


if __name__ == "__main__":
    main()
