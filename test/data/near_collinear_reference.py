#!/usr/bin/env python3
"""Results from covariances of nearly collinear columns, in 100 digits: inflation factors, leverages, errors, tests.

    python3 test/data/near_collinear_reference.py test/data

writes near_collinear.csv there for the test `near_collinear`, which needs neither Python nor mpmath. Needs mpmath.

near_collinear.csv: fit, what, item, value, of the float8 values exactly as they stand, to 25 digits. Fits:

  ols K, poisson K   y (or n, counts) of x and x2 = x + z 2^-K over 60 rows, all of them exact in float8; see rows()
  longley            NIST's set
  filip N            NIST's set, y of the powers 1 to N of x, by repeated multiplication in float8

what: vif (item: a column, from 1 on), the diagonal of the inverse of the correlations that the covariances of the
coefficients but the intercept's have; leverage and std_error of a prediction (item: a row, from 1 on; of the linear
predictor, of the poisson fits); wald (all terms but the intercept: F, or chi squared for the poisson fits).
"""
import csv
import sys

from mpmath import mp, mpf, matrix, exp, nstr, sqrt

mp.dps = 100
DATA = sys.argv[1]


def rows(k):
    """y, counts and columns x and x2; integers over powers of two"""
    for i in range(1, 61):
        x = mpf(1000) + mpf(i * 37 % 101) / 64
        z = mpf(i * 53 % 89) / 64
        yield mpf(i * 29 % 31) / 8, mpf(i * 7 % 5), [mpf(1), x, x + z / mpf(2) ** k]


def read(name):
    with open(f'{DATA}/nist/{name}.csv') as file:
        return [[float(v) for v in row] for row in list(csv.reader(file))[1:]]


def solve(X, y, w):
    n, p = len(X), len(X[0])
    A = matrix(p, p)
    c = matrix(p, 1)
    for r in range(n):
        for i in range(p):
            c[i] += w[r] * X[r][i] * y[r]
            for j in range(p):
                A[i, j] += w[r] * X[r][i] * X[r][j]
    V = A ** -1
    return V * c, V


def dot(a, b):
    return sum((u * v for u, v in zip(a, b)), mpf(0))


def ols(X, y):
    b, V = solve(X, y, [mpf(1)] * len(X))
    rss = sum((yi - dot(row, b)) ** 2 for row, yi in zip(X, y))
    return b, V * (rss / (len(X) - len(X[0]))), rss / (len(X) - len(X[0])), [mpf(1)] * len(X)


def poisson(X, y):
    """Newton's method from the mean"""
    eta = [mp.log(sum(y) / len(y))] * len(y)
    for _ in range(60):
        mu = [exp(e) for e in eta]
        b, V = solve(X, [e + (yi - m) / m for e, yi, m in zip(eta, y, mu)], mu)
        eta = [dot(row, b) for row in X]
    return b, V, mpf(1), [exp(e) for e in eta]


def put(out, name, X, y, fit, by_f):
    b, V, dispersion, w = fit(X, y)
    p = len(X[0])
    S = V[1:p, 1:p]
    inverse = S ** -1
    for j in range(p - 1):
        out.writerow([name, 'vif', j + 1, nstr(S[j, j] * inverse[j, j], 25)])
    for r in (0, 1, 2, len(X) - 1):
        square = dot(X[r], V * matrix(X[r]))
        out.writerow([name, 'leverage', r + 1, nstr(w[r] * square / dispersion, 25)])
        out.writerow([name, 'std_error', r + 1, nstr(sqrt(square), 25)])
    slopes = b[1:p]
    wald = (slopes.T * inverse * slopes)[0]
    out.writerow([name, 'wald', 0, nstr(wald / (p - 1 if by_f else 1), 25)])


def powers(x, n):
    value = x
    row = [mpf(1)]
    for _ in range(n):
        row.append(mpf(value))
        value = value * x
    return row


with open(f'{DATA}/near_collinear.csv', 'w', newline='') as file:
    out = csv.writer(file, lineterminator='\n')
    out.writerow(['fit', 'what', 'item', 'value'])
    for k in range(0, 31, 5):
        data = list(rows(k))
        put(out, f'ols {k}', [d[2] for d in data], [d[0] for d in data], ols, True)
    for k in range(0, 26, 5):
        data = list(rows(k))
        put(out, f'poisson {k}', [d[2] for d in data], [d[1] for d in data], poisson, False)
    longley = read('longley')
    put(out, 'longley', [[mpf(1)] + [mpf(v) for v in row[1:]] for row in longley], [mpf(row[0]) for row in longley], ols,
        True)
    filip = read('filip')
    for n in (3, 5, 7, 10):
        put(out, f'filip {n}', [powers(row[1], n) for row in filip], [mpf(row[0]) for row in filip], ols, True)
