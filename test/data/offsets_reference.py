#!/usr/bin/env python3
"""Least squares on columns with offsets, solved in rational arithmetic, as CSV on standard output.

    python3 test/data/offsets_reference.py > test/data/offsets.csv

Columns: dataset,term,estimate,std_error, to 30 digits; x0 is the intercept. The rows are made here as test/sql/ols_offsets.sql makes them,
of numbers that float8 holds exactly (sums of few powers of two), so they are the same to the last bit.
"""
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60


def spread(i, step, modulus, denominator):
    """A whole number of denominators, about 0"""
    return Fraction(step * i % modulus - modulus // 2, denominator)


def one_feature(i, offset):
    u = spread(i, 37, 101, 64)
    return (offset + u,), offset + 2 * u + spread(i, 53, 89, 1024)


def two_features(i, offset):
    u, v = spread(i, 37, 101, 64), spread(i, 11, 97, 64)
    return (offset + u, 7 - 3 * offset + u / 16 + v), 3 * u - v + offset / 2 + spread(i, 53, 89, 1024)


def years(i, first, count):
    year = Fraction(first + i * 5 % count)
    return (year, year**2, year**3), (year - first) / 4 + spread(i, 53, 89, 64)


def outlier(i, offset, last):
    x, y = one_feature(i, offset)
    return ((last,), y) if i == 200 else (x, y)


def invert(a):
    """The inverse of a matrix of fractions, by Gauss and Jordan"""
    n = len(a)
    rows = [list(r) + [Fraction(int(i == j)) for j in range(n)] for i, r in enumerate(a)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [v - factor * w for v, w in zip(rows[i], rows[k])]
    return [r[n:] for r in rows]


def fit(rows):
    """[(coefficient, its variance)]"""
    z = [(Fraction(1),) + x for x, _ in rows]
    y = [v for _, v in rows]
    m = len(z[0])
    inverse = invert([[sum(r[i] * r[j] for r in z) for j in range(m)] for i in range(m)])
    right = [sum(r[i] * v for r, v in zip(z, y)) for i in range(m)]
    coef = [sum(inverse[i][j] * right[j] for j in range(m)) for i in range(m)]
    rss = sum((v - sum(b * c for b, c in zip(coef, r))) ** 2 for r, v in zip(z, y))
    return [(coef[i], rss / (len(z) - m) * inverse[i][i]) for i in range(m)]


def number(fraction):
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def datasets():
    for k in range(13):
        yield f"one 1e{k}", [one_feature(i, Fraction(10**k)) for i in range(1, 201)]
        yield f"two 1e{k}", [two_features(i, Fraction(10**k)) for i in range(1, 201)]
    for first, count in (1900, 121), (1990, 30), (2014, 8):
        yield f"years {first}", [years(i, first, count) for i in range(1, 201)]
    for last in (0.1, -3e-5, 4e10):
        yield f"outlier {last}", [outlier(i, Fraction(10**9), Fraction(last)) for i in range(1, 201)]
    for g in range(1, 6):
        yield f"group {g}", [one_feature(g * 10 + i, Fraction(10**10 * g)) for i in range(1, 4)]


def main():
    print("dataset,term,estimate,std_error")
    for name, rows in datasets():
        for row in rows:
            assert all(Fraction(float(v)) == v for v in row[0] + (row[1],)), name
        for j, (estimate, variance) in enumerate(fit(rows)):
            print(f"{name},x{j},{number(estimate):.30g},{number(variance).sqrt():.30g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
