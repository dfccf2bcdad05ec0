#!/usr/bin/env python3
"""Models of some columns of a set, with and without ridge, in rational arithmetic, as CSV on standard output.

    python3 test/data/states_reference.py > test/data/states_fits.csv

Columns: dataset,features,response,intercept,l2,term,estimate,std_error; to 25 digits. Column 0 is the set's response,
1 .. p its features; term 0 is the intercept, else a column. The rows are NIST's as float8 has them: of filip, powers
by repeated multiplication. With an l2, RSS / 2 + l2 / 2 sum of squared slopes is least, and the covariances are
RSS / (n - terms) times the inverse of X'X + l2 I, the intercept's place in I being 0.
"""
import csv
import os
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60
HERE = os.path.dirname(os.path.abspath(__file__))

CASES = [
    ("longley", (1, 3, 4), 0, True, "0"),
    ("longley", (6, 2), 0, True, "0"),
    ("longley", (1, 2, 4, 5, 6), 3, True, "0"),
    ("longley", (0, 1, 6), 2, True, "0"),
    ("longley", (1, 2, 3, 4, 5, 6), 0, False, "0"),
    ("longley", (3, 5), 1, False, "0"),
    ("longley", (1, 2, 3, 4, 5, 6), 0, True, "0.5"),
    ("longley", (1, 2, 3, 4, 5, 6), 0, True, "1000000"),
    ("longley", (6, 4), 0, False, "0.25"),
    ("longley", (1, 3), 5, True, "1e-3"),
    ("filip", (1, 2, 3, 4, 5, 6, 7), 0, True, "0"),
    ("filip", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0, True, "1e-6"),
]


def rows_of(dataset):
    with open(os.path.join(HERE, "nist", dataset + ".csv")) as f:
        for row in csv.DictReader(f):
            values = {k: float(v) for k, v in row.items()}
            if dataset == "longley":
                yield [values["y"]] + [values["x%d" % j] for j in range(1, 7)]
            else:
                powers = [values["x"]]
                while len(powers) < 10:
                    powers.append(powers[-1] * values["x"])
                yield [values["y"]] + powers


def solve(a, right):
    """a x = right for several right-hand sides, by Gauss and Jordan"""
    n = len(a)
    rows = [list(a[i]) + list(right[i]) for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [v - factor * w for v, w in zip(rows[i], rows[k])]
    return [r[n:] for r in rows]


def digits(x):
    return "%.24E" % x if isinstance(x, Decimal) else "%.24E" % (Decimal(x.numerator) / Decimal(x.denominator))


def main():
    print("dataset,features,response,intercept,l2,term,estimate,std_error")
    for dataset, features, response, intercept, l2 in CASES:
        ridge = Fraction(float(l2))
        x, y = [], []
        for row in rows_of(dataset):
            row = [Fraction(v) for v in row]
            x.append(([Fraction(1)] if intercept else []) + [row[j] for j in features])
            y.append(row[response])
        terms = ([0] if intercept else []) + list(features)
        m = len(terms)
        a = [[sum(r[i] * r[j] for r in x) for j in range(m)] for i in range(m)]
        for i in range(1 if intercept else 0, m):
            a[i][i] += ridge
        right = [[sum(r[i] * v for r, v in zip(x, y))] + [Fraction(int(i == j)) for j in range(m)] for i in range(m)]
        solution = solve(a, right)
        b = [s[0] for s in solution]
        rss = sum((v - sum(p * q for p, q in zip(r, b))) ** 2 for r, v in zip(x, y))
        for i in range(m):
            variance = solution[i][1 + i] * rss / (len(x) - m)
            error = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
            name = "intercept" if intercept and i == 0 else str(terms[i])
            print(",".join([dataset, '"{%s}"' % ",".join(map(str, features)), str(response), str(intercept).lower(), l2,
                            name, digits(b[i]), digits(error)]))


main()
