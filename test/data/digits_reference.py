#!/usr/bin/env python3
"""Ladders of ever worse conditions for test/digits.sql, and the exact fits of each step.

    python3 test/data/digits_reference.py test/data

writes digits_rows.csv and digits_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To change
a ladder, change it here, run this again with mpmath (1.2 or later; half a minute), and commit both files. Two runs give
the same bytes.

digits_rows.csv: ladder, step, freq, y (0 or 1), z, x1, x2, x3. A row stands for freq equal ones. Numbers are float8 in
their shortest form, so that strtod reads them back exactly; a column that a ladder doesn't have is empty. Logistic fits
are of y on the columns, linear ones of z.

digits_fits.csv: kind, ladder, step, dropped, allowed, term, estimate, std_error. A line a term, 0 being the intercept.
The estimates are those of the float8 values exactly as they stand, to 25 digits, by Newton's method in 100. allowed is
16 - log10 of the condition number of the design matrix, the ones included, its rows weighted (by sqrt(mu (1 - mu)) at
the solution where the fit is logistic) and its columns scaled to length 1, not centred: the digits that an algorithm
can be asked for whose rounding errors are like a change of the last bit of each value. Where it is below 5 a solver may
take columns for collinear, and leave them out: there the file also has the fits without each set of columns, which
dropped names.

The data: Fisher's iris, versicolor (y = 0) against virginica (1), sepal length and width as features and petal length
as z, which overlap; numbers made with a generator of fixed seed; and calendars.

Every logistic fit is asserted to have a finite maximum: the Newton step comes down to 1e-45 standard errors with
linear predictors below 60. Some fits of each ladder are asserted to equal those of another way: Fisher scoring
by orthogonalised rows, on centred and scaled columns, in 80 digits.
"""
import csv
import itertools
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

DIGITS = 100
CHECK_DIGITS = 80
MAY_ALIAS = 5       # digits allowed, below which a column may be taken for collinear
MAX_ETA = 60


#
# The fits
#

def gram(rows, weights):
    """sum of w x x'"""
    p = len(rows[0])
    sums = mp.matrix(p, p)
    for x, w in zip(rows, weights):
        for i in range(p):
            wx = w * x[i]
            for j in range(i + 1):
                sums[i, j] += wx * x[j]
    for i in range(p):
        for j in range(i):
            sums[j, i] = sums[i, j]
    return sums


def cross(rows, values):
    return mp.matrix([mpmath.fsum(x[i] * v for x, v in zip(rows, values)) for i in range(len(rows[0]))])


def scaled_to_ones(g):
    """A Gram matrix, its columns scaled to length 1, and their scales"""
    p = g.rows
    scale = [1 / mpmath.sqrt(g[i, i]) for i in range(p)]
    scaled = mp.matrix(p, p)
    for i in range(p):
        for j in range(p):
            scaled[i, j] = g[i, j] * scale[i] * scale[j]
    return scaled, scale


def solve(g, right):
    """g^-1 right; scaled, since mpmath takes a small pivot for none"""
    scaled, scale = scaled_to_ones(g)
    x = mp.cholesky_solve(scaled, mp.matrix([s * v for s, v in zip(scale, right)]))
    return mp.matrix([s * v for s, v in zip(scale, x)])


def allowed_digits(g):
    """16 - log10 of the condition number of a matrix whose Gram matrix this is, once its columns have length 1"""
    scaled, _ = scaled_to_ones(g)
    values = mp.eigsy(scaled, eigvals_only=True)
    assert min(values) > mpf(10) ** -60, "singular"
    return max(mpf(0), 16 - mpmath.log10(max(values) / min(values)) / 2)


def inverse_diagonal(g):
    p = g.rows
    return [solve(g, unit(p, i))[i] for i in range(p)]


def unit(p, i):
    e = mp.matrix(p, 1)
    e[i] = 1
    return e


def deviance_half(eta, ys, freqs):
    return mpmath.fsum(f * mpmath.log1p(mpmath.exp(-e if y else e)) for e, y, f in zip(eta, ys, freqs))


def predictors(rows, beta):
    return [mpmath.fsum(x[i] * beta[i] for i in range(len(x))) for x in rows]


def fit_logistic(rows, ys, freqs):
    """(estimates, standard errors, Gram matrix at the solution), by Newton's method on the columns as they are"""
    p = len(rows[0])
    beta = mp.matrix(p, 1)
    ones = mpmath.fsum(f for y, f in zip(ys, freqs) if y)
    beta[0] = mpmath.log(ones / (mpmath.fsum(freqs) - ones))
    eta = predictors(rows, beta)
    value = deviance_half(eta, ys, freqs)
    for _ in range(200):
        mu = [1 / (1 + mpmath.exp(-e)) for e in eta]
        g = gram(rows, [f * m * (1 - m) for f, m in zip(freqs, mu)])
        gradient = cross(rows, [f * (y - m) for f, y, m in zip(freqs, ys, mu)])
        step = solve(g, gradient)
        decrement = mpmath.sqrt(abs(mpmath.fsum(gradient[i] * step[i] for i in range(p))))
        if decrement < mpf(10) ** -45:
            assert max(abs(e) for e in eta) < MAX_ETA, "estimates run off"
            return list(beta), [mpmath.sqrt(v) for v in inverse_diagonal(g)], g
        while True:
            trial = predictors(rows, beta + step)
            trial_value = deviance_half(trial, ys, freqs)
            if trial_value < value or decrement < mpf(10) ** -20:
                break
            step = step / 2
        beta, eta, value = beta + step, trial, trial_value
    raise AssertionError("no convergence")


def fit_linear(rows, zs, freqs):
    p = len(rows[0])
    g = gram(rows, freqs)
    beta = solve(g, cross(rows, [f * z for f, z in zip(freqs, zs)]))
    residuals = [z - e for z, e in zip(zs, predictors(rows, beta))]
    variance = mpmath.fsum(f * r * r for f, r in zip(freqs, residuals)) / (mpmath.fsum(freqs) - p)
    return list(beta), [mpmath.sqrt(variance * v) for v in inverse_diagonal(g)], g


#
# A second way to the fits: rows orthogonalised, columns centred
#

def centred(rows):
    """The columns about their means and of length 1, and the matrix that takes coefficients back to the columns"""
    p = len(rows[0])
    back = mp.eye(p)
    columns = [[mpf(1)] * len(rows)]
    for j in range(1, p):
        mean = mpmath.fsum(x[j] for x in rows) / len(rows)
        column = [x[j] - mean for x in rows]
        length = mpmath.sqrt(mpmath.fsum(c * c for c in column))
        columns.append([c / length for c in column])
        back[j, j] = 1 / length
        back[0, j] = -mean / length
    return columns, back


def orthogonalised(columns, weights):
    """Q and R of the columns times sqrt(weights): Gram and Schmidt, twice"""
    q = [[mpmath.sqrt(w) * c for w, c in zip(weights, column)] for column in columns]
    p = len(q)
    r = mp.eye(p)
    for j in range(p):
        once = mp.eye(p)
        for _ in range(2):
            for i in range(j):
                dot = mpmath.fsum(a * b for a, b in zip(q[i], q[j]))
                once[i, j] += dot
                q[j] = [b - dot * a for a, b in zip(q[i], q[j])]
        for i in range(j):
            r[i, j] = once[i, j]
        r[j, j] = mpmath.sqrt(mpmath.fsum(a * a for a in q[j]))
        q[j] = [a / r[j, j] for a in q[j]]
    return q, r


def back_substitute(r, right):
    p = r.rows
    x = mp.matrix(p, 1)
    for i in reversed(range(p)):
        x[i] = (right[i] - mpmath.fsum(r[i, j] * x[j] for j in range(i + 1, p))) / r[i, i]
    return x


def other_way(kind, rows, values, freqs):
    columns, back = centred(rows)
    p = len(columns)
    n = mpmath.fsum(freqs)
    gamma = mp.matrix(p, 1)
    if kind == "ols":
        weights, working = freqs, values
    for _ in range(200):
        if kind == "logistic":
            eta = [mpmath.fsum(c[k] * gamma[i] for i, c in enumerate(columns)) for k in range(len(rows))]
            mu = [1 / (1 + mpmath.exp(-e)) for e in eta]
            weights = [f * m * (1 - m) for f, m in zip(freqs, mu)]
            working = [e + (y - m) / (m * (1 - m)) for e, y, m in zip(eta, values, mu)]
        q, r = orthogonalised(columns, weights)
        root = [mpmath.sqrt(w) * v for w, v in zip(weights, working)]
        new = back_substitute(r, [mpmath.fsum(a * b for a, b in zip(q[i], root)) for i in range(p)])
        moved = max(abs(new[i] - gamma[i]) for i in range(p)) / max(abs(new[i]) for i in range(p))
        gamma = new
        if kind == "ols" or moved < mpf(10) ** -60:
            break
    else:
        raise AssertionError("no convergence of scoring")
    variance = mpf(1)
    if kind == "ols":
        residuals = [v - mpmath.fsum(c[k] * gamma[i] for i, c in enumerate(columns)) for k, v in enumerate(values)]
        variance = mpmath.fsum(f * e * e for f, e in zip(freqs, residuals)) / (n - p)
    inverse = [back_substitute(r, unit(p, i)) for i in range(p)]
    half = mp.matrix(p, p)
    for i in range(p):
        for j in range(p):
            half[i, j] = inverse[j][i]
    half = back * half
    errors = [mpmath.sqrt(variance * mpmath.fsum(half[i, j] ** 2 for j in range(p))) for i in range(p)]
    return list(back * gamma), errors


#
# The ladders: lists of (ladder, step, rows), a row being (freq, y, z, features)
#

def iris():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference", "iris_vv.csv")
    with open(path, newline="") as f:
        return [(int(r["y"]), float(r["pl"]), float(r["sl"]), float(r["sw"])) for r in csv.DictReader(f)]


def power(k):
    return float("1e%d" % k)


def offset_ladder():
    """Both columns far from 0."""
    yield "offset", "0", [(1, y, z, (a, b)) for y, z, a, b in iris()]
    for k in range(13):
        yield "offset", "1e%d" % k, [(1, y, z, (a + power(k), b + power(k))) for y, z, a, b in iris()]


def scale_ladder():
    """One column huge and the other tiny, beside the ones."""
    for k in (-100, -50, -20, -10, -5, 5, 10, 20, 50, 100):
        yield "scale", "1e%d" % k, [(1, y, z, (a * power(k), b * power(-k))) for y, z, a, b in iris()]


def collinear_ladder():
    """The second column is the first, but for noise; the noise tells something of y and of z."""
    generator = random.Random(20260101)
    data = [(y, z, a, b, (2 * generator.random() - 1) + 0.25 * (2 * y - 1)) for y, z, a, b in iris()]
    for k in range(2, 13):
        yield "collinear", "1e-%d" % k, [(1, y, z, (a, a + power(-k) * noise, b)) for y, z, a, b, noise in data]


def year_ladder():
    """Powers of a calendar year, as they come out of a table."""
    generator = random.Random(20260102)
    data = []
    for i in range(120):
        t = (i % 60 - 29.5) / 30
        y = int(generator.random() < 0.5 + 0.25 * t + 0.2 * t * t - 0.2 * t ** 3)
        data.append((1950 + i % 60, y, round(3 + 2 * t - t * t + t ** 3 + generator.random(), 2)))
    for degree in (1, 2, 3):
        yield ("year", "powers to %d" % degree,
               [(1, y, z, tuple(float(year ** k) for k in range(1, degree + 1))) for year, y, z in data])


def unix_ladder():
    """Seconds and milliseconds since 1970, within a minute and within 60 ms."""
    generator = random.Random(20260103)
    data = []
    for i in range(120):
        other = round(10 * generator.random(), 3)
        t = (i % 60 - 29.5) / 30
        y = int(generator.random() < 0.5 + 0.2 * t + 0.03 * (other - 5))
        data.append((i, y, round(5 + 1.5 * t - 0.3 * other + generator.random(), 3), other))
    for step, start in (("seconds", 1.7e9), ("milliseconds", 1.7e12)):
        yield "unix time", step, [(1, y, z, (start + i % 60, other)) for i, y, z, other in data]


def class_ladder():
    """Ones that become rare: some virginica within 20 kinds of versicolor, which are repeated."""
    zeros = []
    for y, _, a, b in iris():
        if y == 0 and (a, b) not in zeros and len(zeros) < 20:
            zeros.append((a, b))
    ones = [(a, b) for y, _, a, b in iris() if y == 1 and a <= 6.5 and b < 3.1]
    shares = [1 + k % 4 for k in range(20)]
    for k in range(7):
        n_ones = 10 if k <= 4 else 2 if k == 5 else 1
        n_zeros = n_ones * 10 ** k
        bounds = [n_zeros * sum(shares[:i]) // sum(shares) for i in range(21)]
        freqs = [bounds[i + 1] - bounds[i] for i in range(20)]
        rows = [(1, 1, None, x) for x in ones[:n_ones]]
        rows += [(f, 0, None, x) for f, x in zip(freqs, zeros) if f > 0]
        yield "classes", "1:1e%d" % k if k else "1:1", rows


def ladders():
    return itertools.chain(collinear_ladder(), offset_ladder(), scale_ladder(), class_ladder(), year_ladder(),
                           unix_ladder())


CHECKED = {("collinear", "1e-2"), ("collinear", "1e-12"), ("offset", "1e12"), ("scale", "1e100"), ("classes", "1:1e6"),
           ("year", "powers to 3"), ("unix time", "milliseconds")}


#
# The files
#

def fit(kind, data, dropped):
    rows = [[mpf(1)] + [mpf(v) for i, v in enumerate(x, 1) if i not in dropped] for _, _, _, x in data]
    freqs = [mpf(f) for f, _, _, _ in data]
    values = [mpf(y if kind == "logistic" else z) for _, y, z, _ in data]
    beta, errors, g = (fit_logistic if kind == "logistic" else fit_linear)(rows, values, freqs)
    return rows, values, freqs, beta, errors, allowed_digits(g)


def check(kind, rows, values, freqs, beta, errors, name):
    with mp.workdps(CHECK_DIGITS):
        other_beta, other_errors = other_way(kind, rows, values, freqs)
        worst = max(abs(a / b - 1) for a, b in zip(beta + errors, other_beta + other_errors))
        assert worst < mpf(10) ** -30, (name, worst)
        print("%-45s %s from the other way's" % (name, mpmath.nstr(worst, 2)))


def fits(kind, ladder, step, data):
    """Lines of digits_fits.csv: of all columns, and, where they are nearly collinear, of what is left without some"""
    nfeatures = len(data[0][3])
    rows, values, freqs, beta, errors, allowed = fit(kind, data, ())
    if (ladder, step) in CHECKED:
        check(kind, rows, values, freqs, beta, errors, "%s %s %s" % (kind, ladder, step))
    yield from lines(kind, ladder, step, (), nfeatures, beta, errors, allowed)
    if allowed >= MAY_ALIAS:
        return
    for count in range(1, nfeatures + 1):
        for dropped in itertools.combinations(range(1, nfeatures + 1), count):
            _, _, _, beta, errors, allowed = fit(kind, data, dropped)
            yield from lines(kind, ladder, step, dropped, nfeatures, beta, errors, allowed)


def lines(kind, ladder, step, dropped, nfeatures, beta, errors, allowed):
    terms = [i for i in range(nfeatures + 1) if i not in dropped]
    for term, estimate, error in zip(terms, beta, errors):
        yield (kind, ladder, step, " ".join(map(str, dropped)), mpmath.nstr(allowed, 4), term,
               mpmath.nstr(estimate, 25), mpmath.nstr(error, 25))


def text(value):
    return "" if value is None else "%d" % value if value == int(value) and abs(value) < 1e15 else repr(value)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    mp.dps = DIGITS
    with open(os.path.join(sys.argv[1], "digits_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "digits_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("ladder", "step", "freq", "y", "z", "x1", "x2", "x3"))
        fits_csv.writerow(("kind", "ladder", "step", "dropped", "allowed", "term", "estimate", "std_error"))
        for ladder, step, data in ladders():
            for freq, y, z, x in data:
                features = (x + (None, None))[:3]
                assert all(v is None or float(text(v)) == v for v in (z,) + features)
                rows_csv.writerow((ladder, step, freq, y, text(z)) + tuple(map(text, features)))
            for kind in ("logistic", "ols"):
                if kind == "logistic" or data[0][2] is not None:
                    fits_csv.writerows(fits(kind, ladder, step, data))


if __name__ == "__main__":
    main()
