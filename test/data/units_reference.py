#!/usr/bin/env python3
"""Generalised linear models whose responses, weights or frequencies are in extreme units, in 60 digits.

    python3 test/data/units_reference.py test/data

writes units_rows.csv and units_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To change a
case, change it here, run this again with mpmath (1.2 or later; gmpy2 makes it faster), and commit both files. Two runs
give the same bytes.

units_rows.csv: dataset, y, weight, x1, x2. Numbers are float8 in their shortest form.

units_fits.csv: dataset, family, link, theta, role, y_exponent, weight_exponent, fits, term, estimate, std_error. A fit
is to the dataset's rows, y times 2^y_exponent and weight times 2^weight_exponent, the latter in the role that is named
("weights", "frequencies", or none). Term 0 is the intercept, "deviance", "null_deviance" and "dispersion" are
the model's. fits says whether all of these, and the squares of standard errors, are 0 or within float8's normal range.
Where they aren't the fit is to be an error, and there is one line for it, without numbers.

Conventions are those of glm_reference.py. Estimates are found there once for each family and link, at exponents of 0,
and converted: the gaussian, gamma, poisson and quasipoisson families' likelihoods have their maximum at the same means
whatever the response's unit is. At every exponent the gradient of the scaled rows is asserted to be 0 to 40 digits.
"""
import csv
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

from glm_reference import FAMILIES, LINKS, NegativeBinomial, Problem
from weights_reference import DIGITS, text

LEAST, LARGEST = mpf(2) ** -1022, mpf(2) ** 1024

# From 2^-996 to 2^996: beyond 1e-300 and 1e300
EXPONENTS = [166 * k for k in range(-6, 7)]

#
# The data
#


def positive():
    """Sixty responses about a mean that triples over x1, and is half as large again where x2 is 1"""
    generator = random.Random(20260301)
    for i in range(60):
        x1, x2 = (i % 12) / 4, float(i % 5 == 0)
        mean = 1 + 0.7 * x1 + 0.5 * x2
        yield mean * (0.7 + 0.6 * generator.random()), 1 + i % 3, x1, x2


def salaries():
    """Four hundred salaries in dollars by years of service and a degree"""
    generator = random.Random(20260302)
    for i in range(400):
        x1, x2 = (i % 40) / 2, float(i % 3 == 0)
        yield round(31000 * 1.021 ** x1 * 1.3 ** x2 * (0.75 + 0.5 * generator.random()), 2), 1, x1, x2


def totals(size):
    """Counts about a mean of the given size, as their variance wants"""
    generator = random.Random(20260303)
    for i in range(24):
        x1, x2 = (i % 8) / 4, float(i % 3 == 0)
        mean = size * (2 + x1 + 0.5 * x2)
        yield float(round(mean + generator.gauss(0, 1) * mean ** 0.5)), 1, x1, x2


def classes():
    """Ones and zeros, each with a frequency"""
    for i in range(16):
        x1, x2, y = (i % 4) / 2, float(i // 4 % 2), float(i // 8)
        yield y, 3 + (5 * i + int(x1 * 8 * y)) % 13, x1, x2


def shares():
    """Shares of a number of trials"""
    for i in range(12):
        x1, x2 = (i % 4) / 2, float(i // 4 % 2)
        trials = 8 * (1 + i % 2)
        yield (1 + (7 * i + 3 * int(2 * x1)) % (trials - 1)) / trials, trials, x1, x2


POSITIVE = [(f, link) for f in ("gaussian", "gamma", "poisson", "quasipoisson")
            for link in (("identity", "sqrt", "log") if "poisson" in f else ("identity", "log", "inverse"))]
COUNTS = [("poisson", link) for link in ("log", "identity", "sqrt")]
BINARY = [("binomial", link) for link in ("logit", "probit", "cloglog")]
WEIGHTS = [-500, -150, 0, 150, 500]

# dataset, rows, families and links, theta, role, exponents of y, exponents of weights
CASES = (
    [("positive", positive(), POSITIVE[1:], None, "", EXPONENTS, [0]),
     ("positive", (), POSITIVE[:1], None, "", EXPONENTS[4:-4], [0]),
     ("positive", (), POSITIVE, None, "weights", [-40, 0, 600], WEIGHTS),
     ("salaries", salaries(), [("gaussian", "log"), ("gaussian", "inverse"), ("gaussian", "identity"),
                               ("gamma", "log"), ("quasipoisson", "log")], None, "", [-80, -20, 0, 20, 80], [0])]
    + [("totals of 1e%d" % k, totals(10.0 ** k), COUNTS, None, "", [0], [0]) for k in (3, 11, 13, 15)]
    + [("totals of 1e3", (), [("negative binomial", link) for link in ("log", "identity", "sqrt")], 3, "", [0], [0]),
       # a frequency is a whole number
       ("classes", classes(), BINARY[:2], None, "frequencies", [0], [0, 20, 40, 46]),
       ("shares", shares(), BINARY, None, "weights", [0], [0, 20, 40, 46, -40])])

#
# The fits
#


def family_of(name, theta):
    return NegativeBinomial(mpf(theta)) if theta else FAMILIES[name]()


def rows_of(rows, role, y_exponent, weight_exponent):
    y_unit, weight_unit = mpf(2) ** y_exponent, mpf(2) ** weight_exponent
    for y, weight, *_ in rows:
        weight = mpf(weight) * weight_unit if role else mpf(1)
        yield {"y": mpf(y) * y_unit, "weight": weight if role != "frequencies" else mpf(1),
               "frequency": weight if role == "frequencies" else mpf(1), "base": mpf(0)}


def converted(beta, link, exponent):
    unit = mpf(2) ** exponent
    if link == "log":
        return [b + exponent * mpmath.log(2) if j == 0 else b for j, b in enumerate(beta)]
    factor = {"identity": unit, "inverse": 1 / unit, "sqrt": mpmath.sqrt(unit)}.get(link, mpf(1))
    return [b * factor for b in beta]


class Solved:
    """A family and link at exponents of 0: the coefficients, and those of the intercept alone"""

    def __init__(self, rows, name, link, theta, role):
        self.z = [[mpf(1), mpf(x1), mpf(x2)] for _, _, x1, x2 in rows]
        self.rows, self.name, self.link, self.theta, self.role = rows, name, link, theta, role
        self.beta = self.problem(0, 0, self.z).solve_checked()[0]
        null = self.problem(0, 0, [[mpf(1)] for _ in rows])
        self.null = null.solve_checked(null.level_beta())[0]

    def problem(self, y_exponent, weight_exponent, z):
        return Problem(list(rows_of(self.rows, self.role, y_exponent, weight_exponent)), z,
                       family_of(self.name, self.theta), self.link, name=(self.name, self.link))

    def means(self, problem, beta):
        """At the maximum: the gradient is 0 against the sums of its terms' magnitudes"""
        means = problem.means_of(problem.etas(beta))
        first = problem.scores(means)[0]
        for j, g in enumerate(problem.gradient(first, beta)):
            assert abs(g) <= mpf(10) ** -40 * mpmath.fsum(abs(x[j] * v) for x, v in zip(problem.z, first))
        return means

    def lines(self, y_exponent, weight_exponent):
        """(term, estimate, standard error), and whether all are within range"""
        beta = converted(self.beta, self.link, y_exponent)
        problem = self.problem(y_exponent, weight_exponent, self.z)
        means = self.means(problem, beta)
        null = self.problem(y_exponent, weight_exponent, [[mpf(1)] for _ in self.rows])
        n = mpmath.fsum(problem.fs)
        pearson = mpmath.fsum(v * (y - m.mu) ** 2 / problem.family.variance(m)[0]
                              for v, y, m in zip(problem.both, problem.ys, means))
        dispersion = mpf(1) if problem.family.known_dispersion else pearson / (n - len(beta))
        gram = problem.gram(problem.scores(means)[1])
        variances = [dispersion * gram.solve([mpf(i == j) for i in range(len(beta))])[j] for j in range(len(beta))]
        sums = {"deviance": problem.deviance(means),
                "null_deviance": null.deviance(self.means(null, converted(self.null, self.link, y_exponent))),
                "dispersion": dispersion}
        result = [(j, b, mpmath.sqrt(v)) for j, (b, v) in enumerate(zip(beta, variances))]
        result += [(k, v, None) for k, v in sums.items()]
        return result, all(is_within(v) for v in beta + variances + list(sums.values()))


def is_within(value):
    size = abs(value)
    # no case is so near the edge that rounding decides
    assert size == 0 or not (LEAST / 4 < size < LEAST * 4 or LARGEST / 4 < size < LARGEST * 4), value
    return size == 0 or LEAST < size < LARGEST


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    mp.dps = DIGITS
    data = {}
    with open(os.path.join(sys.argv[1], "units_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "units_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", "weight", "x1", "x2"))
        fits_csv.writerow(("dataset", "family", "link", "theta", "role", "y_exponent", "weight_exponent", "fits",
                           "term", "estimate", "std_error"))
        for name, made, families, theta, role, y_exponents, weight_exponents in CASES:
            if name not in data:
                data[name] = list(made)
                rows_csv.writerows((name, *map(text, row)) for row in data[name])
            for family, link in families:
                solved = Solved(data[name], family, link, theta, role)
                for y_exponent in y_exponents:
                    for weight_exponent in weight_exponents:
                        key = (name, family, link, theta or "", role, y_exponent, weight_exponent)
                        lines, fits = solved.lines(y_exponent, weight_exponent)
                        for term, value, error in lines if fits else [("", None, None)]:
                            fits_csv.writerow((*key, "t" if fits else "f", term,
                                               "" if value is None else mpmath.nstr(value, 25),
                                               "" if error is None else mpmath.nstr(error, 25)))


if __name__ == "__main__":
    main()
