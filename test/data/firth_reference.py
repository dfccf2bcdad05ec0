#!/usr/bin/env python3
"""Logistic fits with Firth's penalty in 60 digits, among them of separated classes.

    python3 test/data/firth_reference.py test/data

writes firth_rows.csv and firth_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To change a
case, change it here, run this again with mpmath (1.2 or later; gmpy2 makes it faster), and commit both files. Two runs
give the same bytes.

firth_rows.csv: dataset, y, weight, frequency, base, x, as in glm_rows.csv.

firth_fits.csv: dataset, intercept, term, estimate, std_error. Terms are numbers, 0 being the intercept; the other lines
are n, log_lik (the log-likelihood without the penalty), penalized_log_lik and null_penalized_log_lik. They are of the
float8 values exactly as they stand, to 25 digits.

What is maximised is l* = log-likelihood + log det(X' W X) / 2, W = diag(w mu (1 - mu)), the log-likelihood being
sum w (y log mu + (1 - y) log(1 - mu)), without the binomial coefficients: D. Firth (1993), Bias reduction of maximum
likelihood estimates, as G. Heinze and M. Schemper (2002), A solution to the problem of separation in logistic
regression, have it. The gradient is sum (w (y - mu) + h (1/2 - mu)) x, h being the diagonal of the hat matrix
W^(1/2) X (X' W X)^-1 X' W^(1/2).

  std_error  from (X' W X)^-1 at the estimates, as logistf and brglm2 have it: the inverse of the Fisher information,
             without the penalty's second derivative. The penalty needs no other term for an intercept, which is in
             X' W X as any column is.
  null       the greatest l* of the intercept alone, of its own information of one term. (Heinze and Schemper's profile
             likelihoods hold coefficients at 0 under the whole model's information instead.)
  weights    a row of weight w counts as w rows, whole or not: y is a share of w trials
  frequency  the same here, but for n, which counts them; n counts rows of positive weight once
  offset     added to the linear predictor

The fit of the endometrial cancer data is compared with what Heinze and Schemper print. test/data/firth_reference.R
makes all of them with R's brglm2 (type "AS_mean") and compares: with R 4.2.2 and brglm2 0.9 all are within 1e-12 of
these (within 1e-8 what the script itself solves for the case of scales).

Every fit asserts that its gradient is 0 to 40 digits, and is made again in 90 digits: the 25 that are kept must be the
same.
"""
import csv
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

import published_data as data
from glm_reference import FRACTIONS, Dataset, FastGram, converged, cross, dot, estimate_text, of_logit
from weights_reference import CHECK_DIGITS, DIGITS, ZERO, number, numbers, text

STEPS = 400


class Firth:
    def __init__(self, z, rows, name):
        self.z, self.name = z, name
        self.ys, self.base = [r["y"] for r in rows], [r["base"] for r in rows]
        self.ws = [r["weight"] * r["frequency"] for r in rows]

    def at(self, beta):
        """Means, Gram matrix and the parts of the gradient that stand before x"""
        means = [of_logit(o + dot(x, beta)) for o, x in zip(self.base, self.z)]
        weights = [w * m.d1 for w, m in zip(self.ws, means)]
        gram = FastGram(self.z, weights)
        hats = [w * dot(x, gram.solve(x)) for w, x in zip(weights, self.z)]
        half = mpf("0.5")
        return means, gram, [w * (y - m.mu) + h * (half - m.mu) for w, y, m, h in zip(self.ws, self.ys, means, hats)]

    def log_likelihoods(self, means, gram):
        plain = mpmath.fsum(w * ((y * mpmath.log(m.mu) if y else 0) + ((1 - y) * mpmath.log(m.rest) if y != 1 else 0))
                            for w, y, m in zip(self.ws, self.ys, means))
        half_log_det = mpmath.fsum(mpmath.log(gram.lower[i][i] / gram.scale[i]) for i in range(len(gram.scale)))
        return plain, plain + half_log_det

    def solve(self, beta=None):
        """By the information, until it is near; then by the gradient's differences over a very small change"""
        p = len(self.z[0])
        beta = beta or [mpf(0)] * p
        size = mpf(1)
        for _ in range(STEPS):
            means, gram, parts = self.at(beta)
            gradient = cross(self.z, parts)
            if size < mpf("1e-3"):
                h = mpf(10) ** (-mp.dps // 2)
                columns = []
                for j in range(p):
                    moved = cross(self.z, self.at([b + h * (i == j) for i, b in enumerate(beta)])[2])
                    columns.append([(a - b) / h for a, b in zip(gradient, moved)])
                step = list(mpmath.lu_solve(mpmath.matrix(columns).T, mpmath.matrix(gradient)))
            else:
                step = gram.solve(gradient)
                best = self.log_likelihoods(means, gram)[1]
                while self.log_likelihoods(*self.at([b + s for b, s in zip(beta, step)])[:2])[1] < best:
                    step = [s / 2 for s in step]
            size = max(abs(dot(x, step)) for x in self.z)
            if converged(size):
                for j, g in enumerate(gradient):
                    total = mpmath.fsum(abs(x[j] * v) for x, v in zip(self.z, parts))
                    assert abs(g) <= ZERO * total or total < ZERO, (self.name, j)
                return beta, means, gram
            beta = [b + s for b, s in zip(beta, step)]
        raise AssertionError((self.name, "no convergence"))


class Case(Dataset):
    def __init__(self, name, rows, intercept=True, published=()):
        super().__init__(name, rows)
        self.intercept, self.published = intercept, published

    def lines(self, start=None):
        rows = self.taking_part()
        terms = range(0 if self.intercept else 1, len(rows[0]["x"]) + 1)
        fit = Firth(self.design(rows, terms), rows, self.name)
        beta, means, gram = fit.solve(start)
        errors = [mpmath.sqrt(v) for v in gram.inverse_diagonal()]
        lines = [(str(j), estimate_text(b, e), mpmath.nstr(e, 25)) for j, b, e in zip(terms, beta, errors)]
        plain, penalized = fit.log_likelihoods(means, gram)
        stats = {"n": mpmath.fsum(r["frequency"] for r in rows), "log_lik": plain, "penalized_log_lik": penalized}
        if self.intercept:
            null = Firth([[mpf(1)] for _ in rows], rows, self.name)
            stats["null_penalized_log_lik"] = null.log_likelihoods(*null.solve()[1:])[1]
        return lines + [(name, number(v), "") for name, v in stats.items()], beta

    def assert_published(self, lines):
        found = {term: values for term, *values in lines}
        for term, *printed in self.published:
            for value, digits in zip(found[term], printed):
                unit = mpf(10) ** -len(digits.partition(".")[2])
                assert abs(mpf(value) - mpf(digits)) <= unit / 2, (self.name, term, value, digits)


def cases():
    # table II there; neovascularisation separates
    yield Case("endometrial", [(grade, x, {}) for *x, grade in data.ENDOMETRIAL],
               published=(("0", "3.775"), ("1", "2.929"), ("2", "-0.035"), ("3", "-2.604")))
    yield Case("birthwt", [(low, [age, lwt] + data.treatment(race, 3) + others, {})
                           for low, age, lwt, race, *others in data.BIRTHWT])
    yield Case("separated", [(int(i > 4), (i,), {}) for i in range(10)])
    yield Case("separated, no intercept", [(int(i > 4), (i - 4.5,), {}) for i in range(10)], False)
    # one cell has no ones
    yield Case("quasi-separated", [(int(i % 4 != 0 and i % 3 == 0), (int(i % 4 == 0), round(i * 7 % 24 / 8, 3)), {})
                                   for i in range(24)])
    yield Case("all ones", [(1, (i,), {}) for i in range(8)])
    g = random.Random(20260231)
    plain = numbers(20260232, 40)
    rows = [(int(g.random() < 1 / (1 + 2.718281828 ** -(0.4 + a - 0.7 * b))), (a, b, c)) for a, b, c, _ in plain]
    yield Case("overlapping", [(y, x, {}) for y, x in rows])
    yield Case("overlapping, no intercept", [(y, x, {}) for y, x in rows], False)
    yield Case("weights", [(y, x, {"weight": w}) for (y, x), w in zip(rows, FRACTIONS)])
    yield Case("frequencies", [(y, x, {"frequency": i * 7 % 5}) for i, (y, x) in enumerate(rows)])
    yield Case("offset", [(y, x, {"base": round(e + 0.5, 2)}) for (y, x), (_, _, _, e) in zip(rows, plain)])
    yield Case("trials", [((1 + i * 3 % 7) / 8, x, {"weight": 8}) for i, (_, x) in enumerate(rows)])
    yield Case("separated, scales", [(int(a > 0), (1e4 * a, 1e-3 * b + 5), {}) for a, b, _, _ in plain])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(os.path.join(sys.argv[1], "firth_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "firth_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", "weight", "frequency", "base", "x"))
        fits_csv.writerow(("dataset", "intercept", "term", "estimate", "std_error"))
        for case in cases():
            for y, x, roles in case.rows:
                values = [y] + [roles.get(k) for k in ("weight", "frequency", "base")]
                assert all(v is None or float(text(v)) == v for v in values + list(x))
                rows_csv.writerow([case.name, *map(text, values), "{%s}" % ",".join(map(text, x))])
            with mp.workdps(DIGITS):
                lines, beta = case.lines()
                case.assert_published(lines)
            with mp.workdps(CHECK_DIGITS):
                assert case.lines(beta)[0] == lines, (case.name, "60 digits are too few")
            fits_csv.writerows((case.name, "ft"[case.intercept], *line) for line in lines)
            print("%-30s %3d rows%s" % (case.name, len(case.rows), ", as published" if case.published else ""))


if __name__ == "__main__":
    main()
