#!/usr/bin/env python3
"""Covariances robust to clusters in 60 digits, and wild cluster bootstraps by running every regression.

    python3 test/data/states_clusters_reference.py test/data

reads states_clusters_rows.csv there, which states_clusters_reference.R makes, and writes states_clusters_fits.csv and
states_clusters_wild.csv; the suite reads these, and needs neither Python nor R. To change a case, change it here, run
this again with mpmath and numpy, and commit the files.

states_clusters_fits.csv: dataset, vcov, intercept, i, j, value: of the terms i and j <= i, 0 being the intercept, of
the float8 rows exactly as they stand, to 25 digits. Clusters are those of cluster1. With k coefficients of n rows in G
clusters, M = (X'X)^-1, u = X_g' r_g a cluster's scores and b_g the coefficients of the rows without it:

  CR0    M (sum u u') M
  CR1    times G / (G - 1) (n - 1) / (n - k)
  CR3    (G - 1) / G sum (b_g - b)(b_g - b)', CV3 of J. MacKinnon, M. Nielsen and M. Webb (2023), Leverage, influence,
         and the jackknife in clustered regression models
  CR3J   the same about the mean of b_g, CV3J there

states_clusters_wild.csv: dataset, intercept, term (0: the intercept), reps, weights, null, conf_level, seed, estimate,
std_error, statistic, p_value, conf_low, conf_high, reps_made. The bootstrap is that of C. Cameron, J. Gelbach and D.
Miller (2008), Bootstrap-based improvements for inference with clustered errors, with the null imposed: residuals of the
restricted fit times a weight a cluster, a regression, its t by CR1. With b of the replicates whose |t| is at least the
data's, ties (to 1e-11) included, the p-value is b / reps_made where each vector of signs is taken once, the identity
among them, and (1 + b) / (1 + reps) where weights are drawn; limits are where it, followed from the estimate in growing
steps, first isn't above 1 - conf_level. The dataset "grunfeld, 6" is the first six clusters of grunfeld. Weights are those of src/compute/resample/wild_draw.h, with cluster1 as the keys: by a Philox 4x32-10 of its own here
(Salmon et al. 2011), checked against their known answers. Where there are no more vectors of signs than reps, each is
taken once.
"""
import csv
import math
import sys

import mpmath
import numpy as np

mpmath.mp.dps = 60


def read_rows(path):
    sets = {}
    for row in csv.DictReader(open(path)):
        x = row["x"].strip("{}").split(",")
        sets.setdefault(row["dataset"], []).append((float(row["y"]), [float(v) for v in x], int(row["cluster1"])))
    return sets


def design(rows, intercept):
    return [([1.0] if intercept else []) + x for _, x, _ in rows]


def solve(rows, x):
    """(X'X)^-1 and b, exactly as far as 60 digits go"""
    k = len(x[0])
    xm = mpmath.matrix([[mpmath.mpf(v) for v in r] for r in x])
    y = mpmath.matrix([mpmath.mpf(r[0]) for r in rows])
    inverse = (xm.T * xm) ** -1
    return inverse, inverse * (xm.T * y)


def covariances(rows, intercept):
    x = design(rows, intercept)
    n, k = len(x), len(x[0])
    inverse, b = solve(rows, x)
    clusters = sorted({r[2] for r in rows})
    g = len(clusters)
    middle = mpmath.zeros(k, k)
    without = []
    for c in clusters:
        u = mpmath.zeros(k, 1)
        for r, xr in zip(rows, x):
            if r[2] == c:
                left = mpmath.mpf(r[0]) - sum(mpmath.mpf(v) * b[i] for i, v in enumerate(xr))
                for i, v in enumerate(xr):
                    u[i] += v * left
        middle += u * u.T
        keep = [i for i, r in enumerate(rows) if r[2] != c]
        without.append(solve([rows[i] for i in keep], [x[i] for i in keep])[1])
    cr0 = inverse * middle * inverse
    mean = sum(without[1:], without[0]) / g

    def jackknife(about):
        total = mpmath.zeros(k, k)
        for w in without:
            total += (w - about) * (w - about).T
        return total * mpmath.mpf(g - 1) / g

    return {"CR0": cr0, "CR1": cr0 * mpmath.mpf(g) / (g - 1) * mpmath.mpf(n - 1) / (n - k), "CR3": jackknife(b),
            "CR3J": jackknife(mean)}


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


assert philox([0, 0, 0, 0], [0, 0]) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]

WEBB = [-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)]


def weight(seed, key, r, weights):
    key &= 0xFFFFFFFFFFFFFFFF
    seeds = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
    if weights == "rademacher":
        words = philox([key & 0xFFFFFFFF, key >> 32, r // 128, 0x77696C64], seeds)
        return -1.0 if words[r % 128 // 32] >> (r % 32) & 1 else 1.0
    words = philox([key & 0xFFFFFFFF, key >> 32, r // 16, 0x77696C65], seeds)
    return WEBB[words[r % 16 // 4] * 6 ** (r % 4 + 1) // 2 ** 32 % 6]


class Wild:
    """The bootstrap of one coefficient; arrays are rows x replicates"""

    def __init__(self, rows, intercept, term, reps, weights, seed):
        self.x = np.array(design(rows, intercept))
        self.y = np.array([r[0] for r in rows])
        self.j = term if intercept else term - 1
        n, k = self.x.shape
        names = sorted({r[2] for r in rows})
        g = len(names)
        self.of = np.array([[1.0 if r[2] == c else 0.0 for r in rows] for c in names])
        self.enumerated = weights == "rademacher" and 2 ** g <= reps
        if self.enumerated:
            reps = 2 ** g
            self.v = np.array([[-1.0 if r >> i & 1 else 1.0 for r in range(reps)] for i in range(g)])
        else:
            self.v = np.array([[weight(seed, c, r, weights) for r in range(reps)] for c in names])
        self.reps = reps
        self.pinv = np.linalg.pinv(self.x, rcond=1e-15)
        self.factor = g / (g - 1) * (n - 1) / (n - k)
        b = self.pinv @ self.y
        b = b + self.pinv @ (self.y - self.x @ b)
        self.b = b[self.j]
        self.se = math.sqrt(self.factor * np.sum((self.of @ (self.pinv[self.j] * (self.y - self.x @ b))) ** 2))

    def p(self, null):
        others = np.delete(self.x, self.j, axis=1)
        z = self.y - null * self.x[:, self.j]
        fitted = others @ np.linalg.lstsq(others, z, rcond=None)[0] if others.shape[1] else 0 * z
        ystar = (fitted + null * self.x[:, self.j])[:, None] + (z - fitted)[:, None] * (self.of.T @ self.v)
        b = self.pinv @ ystar
        left = ystar - self.x @ b
        se = np.sqrt(self.factor * np.sum((self.of @ (self.pinv[self.j][:, None] * left)) ** 2, axis=0))
        t = np.abs((b[self.j] - null) / se)
        n = int(np.sum(t >= abs((self.b - null) / self.se) * (1 - 1e-11)))
        return n / self.reps if self.enumerated else (1 + n) / (1 + self.reps)

    def limit(self, alpha, sign):
        inside, outside, step = 0.0, 0.5, 0.5
        while self.p(self.b + sign * outside * self.se) > alpha * (1 + 1e-12):
            inside, step = outside, step * 1.25
            outside += step
            if outside > 1e6:
                return sign * math.inf
        for _ in range(42):
            middle = inside + (outside - inside) / 2
            if self.p(self.b + sign * middle * self.se) > alpha * (1 + 1e-12):
                inside = middle
            else:
                outside = middle
        return self.b + sign * self.se * (inside + outside) / 2


# dataset, intercept, term, reps, weights, null, conf_level, seed
WILD = [
    ("grunfeld", True, 1, 9999, "rademacher", 0.0, 0.95, 0), ("grunfeld", True, 2, 9999, "rademacher", 0.0, 0.9, 0),
    ("grunfeld", True, 0, 9999, "rademacher", 0.0, 0.95, 0), ("grunfeld", True, 2, 999, "rademacher", 0.1, 0.95, 5),
    ("grunfeld", True, 1, 999, "webb", 0.1, 0.95, -3), ("grunfeld", False, 2, 999, "rademacher", 0.2, 0.95, 11),
    ("fatalities", True, 1, 999, "rademacher", 0.0, 0.95, 1), ("fatalities", True, 5, 999, "webb", 0.0, 0.99, 2),
    ("fatalities", True, 0, 499, "rademacher", 3.0, 0.9, 3), ("fatalities", True, 4, 1999, "rademacher", 0.0, 0.95, 4),
    ("petersen", True, 1, 999, "rademacher", 1.0, 0.95, 1), ("petersen", True, 0, 999, "rademacher", 0.0, 0.95, 2),
    ("petersen", True, 0, 1999, "webb", 0.1, 0.8, 12345678901), ("petersen", False, 1, 1500, "webb", 0.9, 0.95, 3),
    ("grunfeld, 6", True, 1, 9999, "rademacher", 0.0, 0.95, 0), ("grunfeld, 6", True, 2, 64, "rademacher", 0.0, 0.9, 1),
    ("grunfeld, 6", True, 1, 63, "rademacher", 0.0, 0.95, 2), ("grunfeld, 6", False, 1, 9999, "rademacher", 0.0, 0.95, 3),
    ("grunfeld, 6", True, 1, 9999, "rademacher", 0.0, 0.99, 4), ("grunfeld, 6", True, 1, 999, "webb", 0.0, 0.95, 5),
]


def main(folder):
    sets = read_rows(folder + "/states_clusters_rows.csv")
    with open(folder + "/states_clusters_fits.csv", "w") as out:
        print("dataset,vcov,intercept,i,j,value", file=out)
        for name, rows in sets.items():
            for intercept in (True, False):
                first = 0 if intercept else 1
                for vcov, v in covariances(rows, intercept).items():
                    for i in range(v.rows):
                        for j in range(i + 1):
                            print(name, vcov, str(intercept).lower(), i + first, j + first, mpmath.nstr(v[i, j], 25),
                                  sep=",", file=out)
    with open(folder + "/states_clusters_wild.csv", "w") as out:
        print("dataset,intercept,term,reps,weights,null,conf_level,seed,estimate,std_error,statistic,p_value,conf_low,"
              "conf_high,reps_made", file=out)
        for case in WILD:
            name, intercept, term, reps, weights, null, conf_level, seed = case
            rows = sets[name.split(",")[0]]
            if name.endswith(", 6"):
                rows = [r for r in rows if r[2] in sorted({r[2] for r in rows})[:6]]
            w = Wild(rows, intercept, term, reps, weights, seed)
            print('"%s"' % name, str(intercept).lower(), term, reps, weights, null, conf_level, seed, repr(float(w.b)),
                  repr(float(w.se)), repr(float((w.b - null) / w.se)), repr(float(w.p(null))),
                  repr(float(w.limit(1 - conf_level, -1))), repr(float(w.limit(1 - conf_level, 1))), w.reps, sep=",",
                  file=out)


main(sys.argv[1])
