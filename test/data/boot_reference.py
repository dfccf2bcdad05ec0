#!/usr/bin/env python3
"""Replicates of the Poisson bootstrap for test/sql/boot.sql, in 80 digits.

    python3 test/data/boot_reference.py test/data

writes boot_rows.csv, boot_fits.csv, boot_newton.csv and boot_limits.csv there; the suite reads them, and needs neither Python nor
mpmath. To change a case, change it here, run this again with mpmath (1.2 or later), and commit the files. Two runs give
the same bytes.

boot_rows.csv: the rows of all cases, numbers from a generator of its own; boot_fits.csv: fit, replicate (0: the
estimate), term, estimate (NULL: the replicate is singular); boot_newton.csv: the same of logistic replicates that are
iterated to their own estimates (NULL: there is none, as Newton's steps don't end); boot_limits.csv: fit, kind, term, std_error, bias,
conf_low, conf_high.

How often a row stands in a replicate is made here from what src/compute/resample/boot_draw.h says, with Python's integers: keys,
Philox 4x32-10, and thresholds from e^-1 in 80 digits. A linear replicate is the weighted least-squares fit by normal
equations, a logistic one a Newton step from the estimate. Limits are those of R's boot.ci: norm.inter's quantiles, and
for BCa the acceleration sum l^3 / (6 (sum l^2)^1.5) of the influence values l = (X'WX)^-1 x r, summed over a cluster.
"""
import csv
import datetime
import os
import sys
import uuid

import mpmath
from mpmath import mp, mpf

mp.dps = 80
TAG = 0x626F6F74
NROWS = 90
NREPS = 70
NLIMITS = 199

THRESHOLDS = []
while not THRESHOLDS or THRESHOLDS[-1] < 2 ** 32:
    total = mpmath.fsum(1 / mpmath.factorial(j) for j in range(len(THRESHOLDS) + 1))
    THRESHOLDS.append(int(mpmath.nint(2 ** 32 * mpmath.exp(-1) * total)))
THRESHOLDS.pop()


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


# a known answer of Random123's
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def hash_key(data):
    h = 14695981039346656037
    for byte in data:
        h = ((h ^ byte) * 1099511628211) % 2 ** 64
    return (h >> 52) ^ (h % 2 ** 52)


def integer_key(value):
    return value if abs(value) <= 2 ** 53 else hash_key((value % 2 ** 64).to_bytes(8, "little"))


def count(seed, key, r):
    k, s = key % 2 ** 64, seed % 2 ** 64
    word = philox([k % 2 ** 32, k >> 32, r // 4, TAG], [s % 2 ** 32, s >> 32])[r % 4]
    return sum(word >= t for t in THRESHOLDS)


def generator(state):
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2 ** 64
        yield (state >> 40) / 2 ** 24


EPOCH = datetime.datetime(2000, 1, 1)


def make_rows():
    """Rows as the file has them, and the keys of each column"""
    rows, keys = [], []
    u = generator(2026)
    for i in range(NROWS):
        day = EPOCH.date() + datetime.timedelta(days=37 * i - 1000)
        instant = EPOCH + datetime.timedelta(seconds=86417 * i, microseconds=i)
        name = "Zeile " + "äβ"[i % 2] + str(i)
        number = str(i * i) if i % 3 == 0 else f"{i}.{i % 7 + 1}"
        token = uuid.UUID(int=(i + 1) * 0x0123456789ABCDEF0123456789ABCD)
        x1, x2 = round(next(u), 4), round(3 * next(u) - 1, 4)
        noise = sum(next(u) for _ in range(4)) - 2
        y = round(1 + 2 * x1 - x2 + noise, 4)
        z = int(next(u) < 1 / (1 + 2.718 ** (-(x1 - 0.5 * x2))))
        firm = "firm " + str(int(next(u) * 12))
        w = 1 + int(4 * next(u))
        # numbers near 2^20 with few digits behind the point are exact in float8
        far = 1048576 + int(next(u) * 4096) / 1024
        level = "rare" if i in (11, 47) else "often"
        rows.append([i - 30, (i + 1) * 2 ** 53 + 7 * i - 2 ** 61, name, number, str(token), day.isoformat(),
                     instant.isoformat(), firm, level, y, x1, x2, far, z, w])
        keys.append({"id": i - 30, "big": integer_key(rows[-1][1]), "name": hash_key(name.encode("utf-8")),
                     "number": int(number) if "." not in number else hash_key(number.encode()),
                     "token": hash_key(token.bytes), "day": (day - EPOCH.date()).days,
                     "instant": 86417 * i * 10 ** 6 + i, "firm": hash_key(firm.encode())})
    return rows, keys


COLUMNS = ["id", "big", "name", "number", "token", "day", "instant", "firm", "level", "y", "x1", "x2", "far", "z", "w"]


def solve(rows, weights, scores):
    """(sum of weights x x')^-1 (sum of scores x); None where it is singular, which is a matter of zeros alone here"""
    t = len(rows[0])
    a = mpmath.matrix(t, t)
    b = mpmath.matrix(t, 1)
    for x, w, s in zip(rows, weights, scores):
        for i in range(t):
            b[i] += s * x[i]
            for j in range(t):
                a[i, j] += w * x[i] * x[j]
    try:
        return mpmath.lu_solve(a, b)
    except ZeroDivisionError:
        return None


class Fit:
    def __init__(self, name, terms, seed, key, rows, y, weights=None, logistic=False):
        self.name, self.terms, self.seed, self.key, self.rows, self.y = name, terms, seed, key, rows, y
        self.prior = weights or [mpf(1)] * len(rows)
        self.logistic = logistic

    def at(self, beta):
        """Weights and residuals of the rows at beta"""
        weights, residuals = [], []
        for x, y, w in zip(self.rows, self.y, self.prior):
            eta = mpmath.fsum(b * v for b, v in zip(beta, x))
            mu = 1 / (1 + mpmath.exp(-eta)) if self.logistic else eta
            weights.append(w * (mu * (1 - mu) if self.logistic else 1))
            residuals.append(w * (y - mu))
        return weights, residuals

    def estimate(self):
        beta = [mpf(0)] * len(self.terms)
        for _ in range(30 if self.logistic else 3):
            step = solve(self.rows, *self.at(beta))
            beta = [b + d for b, d in zip(beta, step)]
        assert max(abs(d) for d in step) < mpf(10) ** -40
        return beta

    def replicates(self, beta, n):
        weights, residuals = self.at(beta)
        for r in range(n):
            counts = [count(self.seed, k, r) for k in self.key]
            step = solve(self.rows, [c * w for c, w in zip(counts, weights)],
                         [c * s for c, s in zip(counts, residuals)])
            yield None if step is None else [b + d for b, d in zip(beta, step)]

    def estimates(self, beta, n):
        for r in range(n):
            counts = [count(self.seed, k, r) for k in self.key]
            at, step = beta, None
            for _ in range(60):
                weights, residuals = self.at(at)
                step = solve(self.rows, [c * w for c, w in zip(counts, weights)],
                             [c * s for c, s in zip(counts, residuals)])
                if step is None or max(abs(d) for d in step) > 100:
                    step = None
                    break
                at = [b + d for b, d in zip(at, step)]
                if max(abs(d) for d in step) < mpf(10) ** -40:
                    break
            yield at if step is not None and max(abs(d) for d in step) < mpf(10) ** -40 else None

    def acceleration(self, beta):
        weights, residuals = self.at(beta)
        values = {}
        for x, s, k in zip(self.rows, residuals, self.key):
            values.setdefault(k, [mpf(0)] * len(x))
            values[k] = [v + s * xi for v, xi in zip(values[k], x)]
        t = len(beta)
        a = mpmath.matrix(t, t)
        for x, w in zip(self.rows, weights):
            for i in range(t):
                for j in range(t):
                    a[i, j] += w * x[i] * x[j]
        inverse = a ** -1
        influence = [inverse * mpmath.matrix(v) for v in values.values()]
        return [mpmath.fsum(v[i] ** 3 for v in influence) / (6 * mpmath.fsum(v[i] ** 2 for v in influence) ** mpf(1.5))
                for i in range(t)]


def qnorm(p):
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def quantile(values, p):
    n = len(values)
    rank = (n + 1) * p
    k = int(mpmath.floor(rank))
    if k < 1 or k >= n:
        return values[0] if k < 1 else values[-1]
    if k == rank:
        return values[k - 1]
    low, high = qnorm(mpf(k) / (n + 1)), qnorm(mpf(k + 1) / (n + 1))
    return values[k - 1] + (qnorm(p) - low) / (high - low) * (values[k] - values[k - 1])


def limits(estimate, values, kind, acceleration):
    n = len(values)
    mean = mpmath.fsum(values) / n
    error = mpmath.sqrt(mpmath.fsum((v - mean) ** 2 for v in values) / (n - 1))
    values = sorted(values)
    # 0.95, the float8
    tail = (1 - mpf(0.95)) / 2
    ps = [tail, 1 - tail]
    if kind == "normal":
        ends = [2 * estimate - mean + qnorm(p) * error for p in ps]
    elif kind == "basic":
        ends = [2 * estimate - quantile(values, p) for p in reversed(ps)]
    elif kind == "percentile":
        ends = [quantile(values, p) for p in ps]
    else:
        c = qnorm(mpf(sum(v < estimate for v in values)) / n)
        ends = [quantile(values, mpmath.ncdf(c + (c + qnorm(p)) / (1 - acceleration * (c + qnorm(p))))) for p in ps]
    return [error, mean - estimate] + ends


def main(folder):
    data, keys = make_rows()
    column = {c: [row[i] for row in data] for i, c in enumerate(COLUMNS)}
    number = {c: [mpf(v) for v in column[c]] for c in ("y", "x1", "x2", "far", "z", "w")}
    one = [mpf(1)] * NROWS

    def design(*names):
        return list(zip(*[one if n == "1" else number[n] for n in names]))

    def key(name):
        return [k[name] for k in keys]

    terms = ["(intercept)", "x1", "x2"]
    fits = [Fit("by " + k, terms, seed, key(k), design("1", "x1", "x2"), number["y"]) for k, seed in
            [("id", 1), ("big", -5), ("name", 2 ** 40 + 3), ("number", 0), ("token", 2), ("day", 3), ("instant", 4),
             ("firm", 5)]]
    fits += [
        Fit("weights", terms, 6, key("id"), design("1", "x1", "x2"), number["y"], number["w"]),
        Fit("no intercept", terms[1:], 7, key("id"), design("x1", "x2"), number["y"]),
        Fit("far", ["(intercept)", "far", "x1"], 8, key("id"), design("1", "far", "x1"), number["y"]),
        # a residual of 2^-20 of the response, and that far from 0
        Fit("tight", ["(intercept)", "far"], 9, key("id"), design("1", "far"),
            [1024 * f + y / 1024 for f, y in zip(number["far"], [mpf(int(1024 * v)) / 1024 for v in number["y"]])]),
        Fit("rare", ["(intercept)", "x1", "level[rare]"], 10, key("id"),
            [x + (mpf(int(level == "rare")),) for x, level in zip(design("1", "x1"), column["level"])], number["y"]),
        Fit("logistic", terms, 1, key("id"), design("1", "x1", "x2"), number["z"], logistic=True),
        Fit("logistic by firm", terms, 11, key("firm"), design("1", "x1", "x2"), number["z"], logistic=True),
        Fit("logistic weights", terms, 12, key("name"), design("1", "x1", "x2"), number["z"], number["w"], True)]
    with open(os.path.join(folder, "boot_rows.csv"), "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows([COLUMNS] + data)
    lines, ends, newton = [], [], []
    for fit in fits:
        beta = fit.estimate()
        limited = fit.name in ("by id", "by firm", "logistic", "logistic by firm")
        replicates = [beta] + list(fit.replicates(beta, NLIMITS if limited else NREPS))
        for r, values in enumerate(replicates[:NREPS + 1]):
            for k, term in enumerate(fit.terms):
                lines.append([fit.name, r, term, "" if values is None else mpmath.nstr(values[k], 25)])
        for r, values in enumerate(fit.estimates(beta, NREPS) if fit.logistic else []):
            for k, term in enumerate(fit.terms):
                newton.append([fit.name, r + 1, term, "" if values is None else mpmath.nstr(values[k], 25)])
        if not limited:
            continue
        acceleration = fit.acceleration(beta)
        for kind in ("percentile", "basic", "normal", "bca"):
            for k, term in enumerate(fit.terms):
                values = [v[k] for v in replicates[1:]]
                ends.append([fit.name, kind, term] + [mpmath.nstr(v, 25) for v in
                                                      limits(beta[k], values, kind, acceleration[k])])
    for name, head, rows in [("boot_fits.csv", ["fit", "replicate", "term", "estimate"], lines),
                             ("boot_newton.csv", ["fit", "replicate", "term", "estimate"], newton),
                             ("boot_limits.csv", ["fit", "kind", "term", "std_error", "bias", "conf_low",
                                                  "conf_high"], ends)]:
        with open(os.path.join(folder, name), "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([head] + rows)


if __name__ == "__main__":
    main(sys.argv[1])
