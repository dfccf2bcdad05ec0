"""Two-stage least squares of the rows of iv_rows.csv, in 60 digits: writes iv_fits.csv.

    python3 test/data/iv_reference.py test/data

Wants mpmath. A line a number: of each case the coefficients in the order of the columns, the covariance matrix row by
row, sigma, R squared and the adjusted one, then each test's statistic and p-value in the order of AER's summary: the
weak instruments of each endogenous regressor, Wu-Hausman, Sargan. From the definitions, b = (X'PX)^-1 X'Py and the
regressions that the tests compare, not from how iv.c goes about it; iv_reference.R compares with AER.
"""
import csv
import sys

from mpmath import betainc, gammainc, matrix, mp, mpf, nstr

mp.dps = 60

# name, dataset, endogenous, instruments, intercept; all other columns are exogenous
CASES = [
    ("cigarettes", "cigarettes", [1], [3, 4], True),
    ("cigarettes, one", "cigarettes", [1], [3], True),
    ("mroz", "mroz", [1], [4, 5], True),
    ("longley", "longley", [2], [5, 6], True),
    ("longley, from 0", "longley", [1, 4], [2, 3, 6], False),
    ("two", "two", [1, 2], [4, 5, 6, 7], True),
    ("two, from 0", "two", [1, 2], [4, 5, 6, 7], False),
    ("two, exactly", "two", [1, 2], [5, 7], True),
    ("far", "far", [1, 2], [4, 5, 6, 7], True),
    ("far, from 0", "far", [1, 2], [4, 5, 6, 7], False),
    ("weighted", "weighted", [1, 2], [4, 5, 6, 7], True),
    ("weak", "weak", [1], [3, 4, 5, 6], True),
]


def f_upper(f, df1, df2):
    return betainc(mpf(df2) / 2, mpf(df1) / 2, 0, df2 / (df2 + df1 * f), regularized=True)


def chisq_upper(x, df):
    return gammainc(mpf(df) / 2, x / 2, regularized=True)


class Sums:
    """Sums of weighted products of columns, each a list"""

    def __init__(self, weights):
        self.weights = weights

    def of(self, a, b):
        return matrix([[sum(w * p * q for w, p, q in zip(self.weights, u, v)) for v in b] for u in a])

    def rss(self, x, y):
        xy = self.of(x, [y])
        return (self.of([y], [y]) - xy.T * (self.of(x, x) ** -1 * xy))[0]


def project(sums, z, columns):
    """The columns' projections on those of z"""
    coef = sums.of(z, z) ** -1 * sums.of(z, columns)
    return [[sum(coef[k, j] * z[k][i] for k in range(len(z))) for i in range(len(z[0]))] for j in range(len(columns))]


def fit(rows, endogenous, instruments, intercept):
    n = len(rows)
    y = [r[1] for r in rows]
    sums = Sums([r[0] for r in rows])
    column = {k + 1: [r[2][k] for r in rows] for k in range(len(rows[0][2]))}
    one = [[mpf(1)] * n] if intercept else []
    exogenous = [k for k in column if k not in endogenous + instruments]
    x = one + [column[k] for k in sorted(exogenous + endogenous)]
    z = one + [column[k] for k in exogenous + instruments]
    w = one + [column[k] for k in exogenous]
    e = [column[k] for k in endogenous]
    xp = project(sums, z, x)
    inverse = sums.of(xp, xp) ** -1
    b = inverse * sums.of(xp, [y])
    residual = [v - sum(b[j] * x[j][i] for j in range(len(x))) for i, v in enumerate(y)]
    rss = sums.of([residual], [residual])[0]
    df = n - len(x)
    mean = sums.of([[mpf(1)] * n], [y])[0] / sum(sums.weights) if intercept else 0
    tss = sums.of([[v - mean for v in y]], [[v - mean for v in y]])[0]
    numbers = list(b) + list(inverse * (rss / df))
    numbers += [(rss / df) ** mpf("0.5"), 1 - rss / tss, 1 - rss / tss * (n - len(one)) / df]
    for column_e in e:
        r0, r1 = sums.rss(w, column_e) if w else sums.of([column_e], [column_e])[0], sums.rss(z, column_e)
        f = (r0 - r1) / len(instruments) / (r1 / (n - len(z)))
        numbers += [f, f_upper(f, len(instruments), n - len(z))]
    fitted = project(sums, z, e)
    r0, r1 = sums.rss(x, y), sums.rss(x + fitted, y)
    df2 = n - len(x) - len(e)
    f = (r0 - r1) / len(e) / (r1 / df2)
    numbers += [f, f_upper(f, len(e), df2)]
    df1 = len(instruments) - len(e)
    if df1 == 0:
        return numbers + [None, None]
    mean = sums.of([[mpf(1)] * n], [residual])[0] / sum(sums.weights)
    centred = [v - mean for v in residual]
    sargan = n * (1 - sums.rss(z, residual) / sums.of([centred], [centred])[0])
    return numbers + [sargan, chisq_upper(sargan, df1) if sargan > 0 else mpf(1)]


def main(folder):
    data = {}
    with open(folder + "/iv_rows.csv") as file:
        for r in csv.DictReader(file):
            data.setdefault(r["dataset"], []).append(
                (mpf(float(r["weight"] or 1)), mpf(float(r["y"])), [mpf(float(v)) for v in r["x"][1:-1].split(",")]))
    with open(folder + "/iv_fits.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["name", "dataset", "endogenous", "instruments", "intercept", "i", "value"])
        for name, dataset, endogenous, instruments, intercept in CASES:
            for i, v in enumerate(fit(data[dataset], endogenous, instruments, intercept)):
                out.writerow([name, dataset, "{%s}" % ",".join(map(str, endogenous)),
                              "{%s}" % ",".join(map(str, instruments)), "t" if intercept else "f", i + 1,
                              "" if v is None else nstr(v, 25)])


main(sys.argv[1])
