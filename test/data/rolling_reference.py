"""Linear regression over windows, in 60 digits: writes rolling_rows.csv and rolling_fits.csv.

    python3 test/data/rolling_reference.py test/data

Wants mpmath. Sets: near 0; far from it, where values have nine digits in common; growing, from 1 to 1e12, so that what
is a good shift for one window is none for another; and gaps, with NULLs, one of them in a whole window. A line a
window's term: the set, the width, whether there is an intercept, the number of its last row, complete rows, the term's
place, coefficient and standard error, sigma, R squared; empty where there is none.
"""
import csv
import random
import sys

from mpmath import matrix, mp, mpf, nstr

mp.dps = 60

WIDTHS = {"near": 12, "far": 9, "growing": 10, "gaps": 7}


def rows_of(name, n=70):
    draw = random.Random(name)
    rows = []
    for i in range(n):
        x = [round(draw.gauss(0, 1), 3), round(draw.random() * 10, 2)]
        y = round(1 + 2 * x[0] - x[1] / 4 + draw.gauss(0, 1), 3)
        if name == "far":
            x = [2e9 + x[0], 5e10 - 3 * x[1]]
            y = round(y + 1e9, 3)
        if name == "growing":
            x = [float(round(1e3 ** (i / 17)) + round(100 * x[0])), x[1] + 4096]
            y = round(y + x[0] / 1e3, 3)
        row = [y] + x
        if name == "gaps" and (draw.random() < 0.2 or 24 <= i < 32):
            row[draw.randrange(3)] = None
        rows.append(row)
    return rows


def fit(rows, intercept):
    if len(rows) < (3 if intercept else 2):
        return None
    x = matrix([([1] if intercept else []) + [mpf(v) for v in r[1:]] for r in rows])
    y = matrix([mpf(r[0]) for r in rows])
    m = x.cols
    inverse = (x.T * x) ** -1
    b = inverse * (x.T * y)
    rss = sum((y[i] - sum(x[i, j] * b[j] for j in range(m))) ** 2 for i in range(len(rows)))
    mean = sum(y) / len(rows) if intercept else 0
    tss = sum((v - mean) ** 2 for v in y)
    df = len(rows) - m
    sigma = (rss / df) ** mpf("0.5") if df else None
    errors = [sigma * inverse[j, j] ** mpf("0.5") if df else None for j in range(m)]
    return b, errors, sigma, 1 - rss / tss if df else mpf(1)


def text(v):
    return "" if v is None else nstr(v, 25)


def main(folder):
    with open(folder + "/rolling_rows.csv", "w", newline="") as file, \
            open(folder + "/rolling_fits.csv", "w", newline="") as fits:
        out, fits = csv.writer(file, lineterminator="\n"), csv.writer(fits, lineterminator="\n")
        out.writerow("dataset,i,y,x1,x2".split(","))
        fits.writerow("dataset,width,intercept,row_number,n,term,coef,std_error,sigma,r_squared".split(","))
        for name, width in WIDTHS.items():
            rows = rows_of(name)
            out.writerows([name, i + 1] + ["" if v is None else repr(v) for v in r] for i, r in enumerate(rows))
            for intercept in (True, False):
                for end in range(width, len(rows) + 1):
                    window = [r for r in rows[end - width:end] if None not in r]
                    found = fit(window, intercept)
                    head = [name, width, "ft"[intercept], end, len(window)]
                    if found is None:
                        fits.writerow(head + ["", "", "", "", ""])
                        continue
                    b, errors, sigma, r_squared = found
                    for j, (c, e) in enumerate(zip(b, errors)):
                        fits.writerow(head + [j + 1, text(c), text(e), text(sigma), text(r_squared)])


main(sys.argv[1])
