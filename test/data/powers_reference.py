#!/usr/bin/env python3
"""Polynomials of one column, with iid and robust covariances, in 60 digits.

    python3 test/data/powers_reference.py test/data

writes powers_rows.csv and powers_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To change
a case, change it here, run this again with mpmath (1.2 or later; gmpy2 makes it faster), and commit both files. Two
runs give the same bytes.

powers_rows.csv: dataset, y, cluster1, x; x is a float8 in its shortest form, and a cluster a whole number.

powers_fits.csv: dataset, family, link, degree, vcov, i, j, value. The terms are the powers of x up to the degree, of
the float8 exactly as it stands: x^i is not rounded. Where vcov is coef, value is the coefficient of x^i; elsewhere the
covariance of those of x^i and x^j, j <= i, as covariance_reference.py has it, CR0 to CR2 being of cluster1; iid is M
times the dispersion, which is 1 of classes and counts. Values have 25 digits.

Every fit asserts that its gradient is 0 to 40 digits, and is made again in 90 digits: the 25 that are kept must be the
same.
"""
import csv
import math
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

from covariance_reference import HC, LOGIT, OLS, POISSON, Case, Sandwich
from glm_reference import poisson
from weights_reference import CHECK_DIGITS, DIGITS, text


class Polynomial(Case):
    """Rows (y, x, roles), fitted to the powers of x"""

    def __init__(self, name, rows, family, link, kinds, degree):
        super().__init__(name, [(y, [x], roles) for y, x, roles in rows], family, link, kinds)
        self.degree = degree

    def taking_part(self):
        rows = super().taking_part()
        for row in rows:
            row["x"] = [row["x"][0] ** k for k in range(1, self.degree + 1)]
        return rows

    def lines(self, start=None):
        lines, beta = super().lines(start)
        s = Sandwich(self, self.family, self.link, True, beta)
        squares = mpmath.fsum(w * r * r for w, r in zip(s.precisions, s.residuals))
        dispersion = squares / (s.n - s.k) if self.family == "gaussian" else 1
        lines = [(kind, i, j, value) for kind, _, i, j, value in lines]
        lines += [("iid", str(i), str(j), mpmath.nstr(dispersion * s.m[i][j], 25))
                  for i in range(s.k) for j in range(i + 1)]
        return [("coef", str(i), "", mpmath.nstr(b, 25)) for i, b in enumerate(beta)] + lines, beta


CR = tuple((kind, "1") for kind in ("CR0", "CR1", "CR2"))


def cases(folder):
    with open(os.path.join(folder, "nist", "filip.csv")) as f:
        yield Polynomial("filip", [(float(y), float(x), {}) for y, x in list(csv.reader(f))[1:]], *OLS, HC, 10)
    for name, middle, width, degree, (family, link) in (
            ("counts about 1000", 1000, 10, 4, POISSON), ("counts about 100", 100, 20, 6, POISSON),
            ("classes about 2000", 2000, 15, 3, LOGIT)):
        g = random.Random(name)
        rows = []
        for i in range(200):
            x = round(middle + width * g.uniform(-1, 1), 3)
            t = (x - middle) / width
            eta = 0.4 + 0.8 * t - 0.9 * t ** 2 + 0.3 * t ** 3 + 0.5 * math.sin(i % 23)
            y = poisson(math.exp(1 + eta), g.random()) if family == "poisson" else g.random() < 1 / (1 + math.exp(-eta))
            rows.append((y, x, {"cluster1": i % 23}))
        yield Polynomial(name, rows, family, link, HC + CR, degree)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(os.path.join(sys.argv[1], "powers_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "powers_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", "cluster1", "x"))
        fits_csv.writerow(("dataset", "family", "link", "degree", "vcov", "i", "j", "value"))
        for case in cases(sys.argv[1]):
            for y, (x,), roles in case.rows:
                rows_csv.writerow([case.name, text(y), text(roles.get("cluster1")), text(x)])
            with mp.workdps(DIGITS):
                lines, beta = case.lines()
            with mp.workdps(CHECK_DIGITS):
                assert case.lines(beta)[0] == lines, (case.name, "60 digits are too few")
            fits_csv.writerows((case.name, case.family, case.link, case.degree, *line) for line in lines)
            print("%-40s %s" % (case.name, case.family), flush=True)


if __name__ == "__main__":
    main()
