#!/usr/bin/env python3
"""Cross-validation for test/sql/cv.sql, in 80 digits.

    python3 test/data/cv_reference.py test/data

writes cv_fits.csv there, of the rows of boot_rows.csv; the suite reads it, and needs neither Python nor mpmath. To
change a case, change it here, run this again with mpmath (1.2 or later), and commit the file. Two runs give the same
bytes.

cv_fits.csv: fit, fold (empty: all of them), n_train, n_test, coef, error, std_error, misclassified. Each fold's fit is
made anew, from its training rows alone: by normal equations, or by Newton's method from 0 to 40 digits. error is the
mean squared error, or twice the mean log loss, of the fold's rows; that of all folds is their mean, weighted by their
rows, and its standard error is cv.glmnet's. Folds are drawn from what src/compute/base/fold_draw.h says.
"""
import csv
import os
import sys

import mpmath
from mpmath import mpf

from boot_reference import COLUMNS, NROWS, make_rows, philox

TAG = 0x666F6C64


def draw(seed, key, n):
    k, s = key % 2 ** 64, seed % 2 ** 64
    return 1 + (philox([k % 2 ** 32, k >> 32, 0, TAG], [s % 2 ** 32, s >> 32])[0] * n >> 32)


def solve(rows, weights, scores, beta, penalties):
    t = len(beta)
    a, b = mpmath.matrix(t, t), mpmath.matrix(t, 1)
    for x, w, s in zip(rows, weights, scores):
        for i in range(t):
            b[i] += s * x[i]
            for j in range(t):
                a[i, j] += w * x[i] * x[j]
    for i in range(t):
        a[i, i] += penalties[i]
        b[i] -= penalties[i] * beta[i]
    return mpmath.lu_solve(a, b)


def predict(x, beta):
    return mpmath.fsum(b * v for b, v in zip(beta, x))


def fit(rows, y, weights, penalties, logistic):
    beta = [mpf(0)] * len(rows[0])
    for _ in range(40 if logistic else 2):
        at = [predict(x, beta) for x in rows]
        mu = [1 / (1 + mpmath.exp(-e)) if logistic else e for e in at]
        step = solve(rows, [w * (m * (1 - m) if logistic else 1) for w, m in zip(weights, mu)],
                     [w * (v - m) for w, v, m in zip(weights, y, mu)], beta, penalties)
        beta = [b + d for b, d in zip(beta, step)]
    assert max(abs(d) for d in step) < mpf(10) ** -40
    return beta


def loss(x, y, beta, logistic):
    eta = predict(x, beta)
    return 2 * mpmath.log(1 + mpmath.exp(-eta if y else eta)) if logistic else (y - eta) ** 2


def validate(name, rows, y, folds, weights=None, l2=0, intercept=True, logistic=False):
    prior = weights or [mpf(1)] * len(rows)
    penalties = [mpf(0) if intercept and i == 0 else mpf(l2) for i in range(len(rows[0]))]
    lines, errors = [], []
    for f in [None] + sorted(set(folds)):
        train = [i for i in range(len(rows)) if f is None or folds[i] != f]
        test = [i for i in range(len(rows)) if f is None or folds[i] == f]
        beta = fit([rows[i] for i in train], [y[i] for i in train], [prior[i] for i in train], penalties, logistic)
        weight = mpmath.fsum(prior[i] for i in test)
        error = mpmath.fsum(prior[i] * loss(rows[i], y[i], beta, logistic) for i in test) / weight
        wrong = sum((predict(rows[i], beta) > 0) != (y[i] == 1) for i in test)
        line = [name, f, len(train), len(test), beta, error, None, mpf(wrong) / len(test)]
        if f is None:
            whole = line
        else:
            lines.append(line)
            errors.append((weight, error))
    total = mpmath.fsum(w for w, _ in errors)
    whole[5] = mpmath.fsum(w * e for w, e in errors) / total
    whole[6] = mpmath.sqrt(mpmath.fsum(w * (e - whole[5]) ** 2 for w, e in errors) / total / (len(errors) - 1))
    whole[7] = mpmath.fsum(line[3] * line[7] for line in lines) / len(rows)
    for line in lines + [whole]:
        yield [
            line[0], "" if line[1] is None else line[1], line[2], line[3],
            "{" + ",".join(mpmath.nstr(b, 25) for b in line[4]) + "}", mpmath.nstr(line[5], 25),
            "" if line[6] is None else mpmath.nstr(line[6], 25),
            mpmath.nstr(line[7], 25) if logistic and weights is None else ""]


def main(folder):
    data, keys = make_rows()
    column = {c: [row[i] for row in data] for i, c in enumerate(COLUMNS)}
    number = {c: [mpf(v) for v in column[c]] for c in ("y", "x1", "x2", "far", "z", "w")}
    one = [mpf(1)] * NROWS

    def design(*names):
        return list(zip(*[one if n == "1" else number[n] for n in names]))

    def drawn(name, seed, n):
        return [draw(seed, k[name], n) for k in keys]

    given = [(i * i) % 5 - 1 for i in column["id"]]
    plain = design("1", "x1", "x2")
    cases = [
        validate("column", plain, number["y"], given),
        validate("id", plain, number["y"], drawn("id", 3, 5)),
        validate("big", plain, number["y"], drawn("big", -7, 10)),
        validate("name", plain, number["y"], drawn("name", 2 ** 40 + 3, 4)),
        validate("firm", plain, number["y"], drawn("firm", 1, 3)),
        validate("weights", plain, number["y"], drawn("id", 3, 5), number["w"]),
        validate("no intercept", design("x1", "x2"), number["y"], drawn("id", 4, 5), intercept=False),
        validate("ridge", plain, number["y"], drawn("id", 5, 5), l2=2.5),
        validate("far", design("1", "far", "x1"), number["y"], drawn("id", 6, 5)),
        validate("logistic column", plain, number["z"], given, logistic=True),
        validate("logistic id", plain, number["z"], drawn("id", 3, 10), logistic=True),
        validate("logistic firm", plain, number["z"], drawn("firm", 1, 3), logistic=True),
        validate("logistic weights", plain, number["z"], drawn("name", 8, 4), number["w"], logistic=True),
        validate("logistic no intercept", design("x1", "x2"), number["z"], drawn("id", 9, 5), intercept=False,
                 logistic=True),
        validate("logistic ridge", plain, number["z"], drawn("id", 10, 5), l2=2.5, logistic=True),
        validate("logistic far", design("1", "far", "x1"), number["z"], drawn("id", 6, 5), logistic=True)]
    with open(os.path.join(folder, "cv_fits.csv"), "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["fit", "fold", "n_train", "n_test", "coef", "error", "std_error", "misclassified"])
        for case in cases:
            out.writerows(case)


if __name__ == "__main__":
    main(sys.argv[1])
