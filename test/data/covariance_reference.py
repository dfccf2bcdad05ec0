#!/usr/bin/env python3
"""Covariances that are robust to heteroscedasticity and to clusters, in 60 digits.

    python3 test/data/covariance_reference.py test/data

writes covariance_rows.csv and covariance_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To
change a case, change it here, run this again with mpmath (1.2 or later; gmpy2 makes it faster), and commit both files.
Two runs give the same bytes.

covariance_rows.csv: dataset, y, weight, frequency, base, cluster1, cluster2, x, as in glm_rows.csv; a cluster is a
whole number.

covariance_fits.csv: dataset, family, link, vcov, clusters, i, j, value. Family gaussian with link identity is least
squares. i and j <= i are terms, 0 being the intercept; where no term is 0 the fit has none. clusters names the cluster
columns: nothing, 1, 2, or 1+2 for two ways at once. Values are of the float8 rows exactly as they stand, to 25 digits.

With k coefficients of n rows, x the model matrix's rows, w prior weights, W = w mu'(eta)^2 / V(mu) the working weights
and s = w (y - mu) mu'(eta) / V(mu), so that the gradient is sum s x (a generalised linear model's dispersion cancels),
M = (sum W x x')^-1 and h = W x' M x:

  HC0        M (sum s^2 x x') M, of H. White (1980), A heteroskedasticity-consistent covariance matrix estimator
  HC1        times n / (n - k), of D. Hinkley (1977), Jackknifing in unbalanced situations
  HC2, HC3   with s^2 / (1 - h) and s^2 / (1 - h)^2, of J. MacKinnon and H. White (1985), Some heteroskedasticity-
             consistent covariance matrix estimators; for generalised linear models as R's sandwich::vcovHC
  CR0        M (sum over clusters of u u') M, u being a cluster's sum of s x, of K. Liang and S. Zeger (1986),
             Longitudinal data analysis using generalized linear models
  CR1        times G / (G - 1) (n - 1) / (n - k) with G clusters: Stata's regress and fixest's lm, and sandwich::vcovCL
             with type "HC1". It is the same here for generalised linear models, as in fixest and in vcovCL with type
             "HC1"; vcovCL's default for these has no (n - 1) / (n - k), and neither have Stata's glm and logit.
  two ways   V1 + V2 - V12, V12 of the clusters that are pairs of both, of C. Cameron, J. Gelbach and D. Miller (2011),
             Robust inference with multiway clustering. Each has the factor of its own G, as in vcovCL; fixest takes the
             least G for all three by default (ssc(cluster.df = "min")), and its "conventional" is this one. The matrix
             is left as it is where it isn't positive.
  CR2        u = sum over the cluster of x~' (1 - H~)^(-1/2) r~ with the symmetric root, generalised where 1 - H~ is
             singular, x~ = W^(1/2) x, r~ = (w / V(mu))^(1/2) (y - mu) and H~ = x~ M x~' of the cluster's rows: of R. Bell
             and D. McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples.
             That is their matrix of the linear regression of r~ on x~, in which the working model's variance V(mu) / w
             (1 / w of least squares with weights) is 1. Of least squares without weights it is what R's
             clubSandwich::vcovCR gives, and with others what it gives for the regression of r~ on x~. J. Pustejovsky
             and E. Tipton (2018), Small-sample methods for cluster-robust variance estimation and hypothesis testing in
             fixed effects models, whom clubSandwich follows for weights and generalised linear models, take another
             root of the same matrix, D' (D (1 - H) Phi (1 - H)' D')^(-1/2) D with Phi = D' D: either makes the
             covariances unbiased where the working model is right, but theirs wants all rows of a cluster at once.
  frequency  each row as if it stood that often: s, W and h are those of one of them, n counts them. There is no CR2.

test/data/covariance_reference.R makes the same with R's sandwich and clubSandwich and compares. (CR2 of weights and of
generalised linear models by clubSandwich for the regression of r~ on x~.) With R 4.2.2, sandwich
3.0-2 and clubSandwich 0.5.8 no entry is farther than 1e-9 from these, relative to the square root of its two variances,
but for the nearly collinear columns and those far from 0: M (sum s^2 x x') M then loses most digits of float8.

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

import published_data as data
from glm_reference import FAMILIES, Dataset, Problem, cross, epil, poisson
from weights_reference import CHECK_DIGITS, DIGITS, numbers, text

ROLES = "weight", "frequency", "base", "cluster1", "cluster2"


def outer_sum(vectors, weights):
    columns = list(zip(*vectors))
    weighted = [[w * v for w, v in zip(weights, c)] for c in columns]
    return [[mpmath.fdot(a, b) for b in columns] for a in weighted]


def product(a, b):
    return [cross(b, row) for row in a]


def quadratic(a, b, c):
    return product(product(a, b), c)


def clusters_of(names):
    groups = {}
    for i, name in enumerate(names):
        groups.setdefault(name, []).append(i)
    return list(groups.values())


class Sandwich:
    """A fit, and what its covariances are made of"""

    def __init__(self, dataset, family, link, intercept, start=None):
        rows = dataset.taking_part()
        terms = range(0 if intercept else 1, len(rows[0]["x"]) + 1)
        problem = Problem(rows, dataset.design(rows, terms), FAMILIES[family](), link, 0, intercept, dataset.name)
        self.beta, means = problem.solve_checked(start)
        first, expected, _ = problem.scores(means)
        self.x, self.rows, self.counts = problem.z, rows, problem.fs
        self.n, self.k = mpmath.fsum(problem.fs), len(self.beta)
        self.first = [s / f for s, f in zip(first, problem.fs)]
        gram = problem.gram(expected)
        self.m = [gram.solve([mpf(int(i == j)) for j in range(self.k)]) for i in range(self.k)]
        self.hats = [w / f * mpmath.fdot(cross(self.m, x), x) for w, f, x in zip(expected, problem.fs, self.x)]
        assert all(h < 1 - mpf(10) ** -9 for h in self.hats), dataset.name
        # the linearised model's residuals, their variances and the rows d of the design
        self.residuals = [y - m.mu for y, m in zip(problem.ys, means)]
        self.precisions = [w / problem.family.variance(m)[0] for w, m in zip(problem.ws, means)]
        self.d = [[m.d1 * v for v in x] for m, x in zip(means, self.x)]

    def of_meat(self, meat, factor=1):
        return [[factor * v for v in row] for row in quadratic(self.m, meat, self.m)]

    def heteroscedastic(self, kind):
        power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[kind]
        weights = [f * s * s / (1 - h) ** power for f, s, h in zip(self.counts, self.first, self.hats)]
        return self.of_meat(outer_sum(self.x, weights), self.n / (self.n - self.k) if kind == "HC1" else 1)

    def of_clusters(self, kind, names):
        groups = clusters_of(names)
        if kind == "CR2":
            sums = [self.adjusted_sum(g) for g in groups]
        else:
            sums = [cross([self.x[i] for i in g], [self.counts[i] * self.first[i] for i in g]) for g in groups]
        count = mpf(len(groups))
        factor = count / (count - 1) * (self.n - 1) / (self.n - self.k) if kind == "CR1" else 1
        return self.of_meat(outer_sum(sums, [mpf(1)] * len(sums)), factor)

    def clustered(self, kind, clusters):
        columns = [[r["cluster" + c] for r in self.rows] for c in clusters.split("+")]
        if len(columns) == 1:
            return self.of_clusters(kind, columns[0])
        parts = [self.of_clusters(kind, names) for names in columns + [list(zip(*columns))]]
        return [[a + b - c for a, b, c in zip(*rows)] for rows in zip(*parts)]

    def adjusted_sum(self, group):
        """A cluster's sum for CR2"""
        d, w, r = ([v[i] for i in group] for v in (self.d, self.precisions, self.residuals))
        p = range(len(group))
        roots = [mpmath.sqrt(v) for v in w]
        scaled = [[root * v for v in row] for root, row in zip(roots, d)]
        left = [[int(i == j) - mpmath.fdot(cross(self.m, scaled[i]), scaled[j]) for j in p] for i in p]
        values, vectors = mpmath.eigsy(mpmath.matrix(left))
        assert all(v > -mpf(10) ** -40 for v in values)
        adjusted = [mpf(0)] * len(group)
        for e in p:
            if values[e] > mpf(10) ** -30 * max(values):
                vector = [vectors[i, e] for i in p]
                along = mpmath.fdot(vector, [a * b for a, b in zip(roots, r)]) / mpmath.sqrt(values[e])
                adjusted = [a + along * v for a, v in zip(adjusted, vector)]
        return cross(scaled, adjusted)


class Case(Dataset):
    """A dataset and a fit of it, with the covariances to make: (kind, clusters)"""

    def __init__(self, name, rows, family, link, kinds, intercept=True):
        super().__init__(name, rows)
        self.family, self.link, self.kinds, self.intercept = family, link, kinds, intercept

    def lines(self, start=None):
        s = Sandwich(self, self.family, self.link, self.intercept, start)
        lines = []
        for kind, clusters in self.kinds:
            v = s.clustered(kind, clusters) if clusters else s.heteroscedastic(kind)
            first = 0 if self.intercept else 1
            lines += [(kind, clusters, str(first + i), str(first + j), mpmath.nstr(v[i][j], 25))
                      for i in range(s.k) for j in range(i + 1)]
        return lines, s.beta


#
# The cases
#

HC = tuple((kind, "") for kind in ("HC0", "HC1", "HC2", "HC3"))


def kinds(*clusters, cr2=True):
    return HC + tuple((kind, c) for c in clusters for kind in ("CR0", "CR1", "CR2")
                      if kind != "CR2" or cr2 and "+" not in c)


OLS, LOGIT, POISSON, GAMMA = ("gaussian", "identity"), ("binomial", "logit"), ("poisson", "log"), ("gamma", "log")


def published():
    yield Case("stackloss", [(loss, x, {}) for loss, *x in data.STACKLOSS], *OLS, HC)
    mtcars = [(mpg, (hp, weight), {"cluster1": cylinders, "cluster2": gears})
              for mpg, cylinders, _, hp, weight, gears in data.MTCARS]
    yield Case("mtcars", mtcars, *OLS, kinds("1", "2", "1+2"))
    yield Case("mtcars, no intercept", mtcars, *OLS, kinds("1", "2", "1+2"), intercept=False)
    yield Case("mtcars, gamma", mtcars, *GAMMA, kinds("1", "1+2"))
    yield Case("infert", [(case, [age, parity, spontaneous, induced], {"cluster1": stratum})
                          for case, age, parity, _, spontaneous, induced, stratum in data.INFERT],
               *LOGIT, kinds("1"))
    yield Case("epil", [(y, x, {"cluster1": subject, "cluster2": i % 4 + 1})
                        for i, (y, x, subject) in enumerate(epil())], *POISSON, kinds("1", "1+2"))


N = 199
SIZES = 1, 2, 3, 5, 8, 12, 4, 9


def cluster_names():
    """Clusters of unequal sizes, whose rows stand apart, numbered with gaps"""
    names = []
    while len(names) < N:
        g = len(set(names))
        names += [7 * g - 40] * SIZES[g % len(SIZES)]
    return [names[i * 37 % N] for i in range(N)]


def made_up():
    g = random.Random(20260221)
    one, two = cluster_names(), [i * i % 23 for i in range(N)]
    effects = {name: round(g.uniform(-1, 1), 2) for name in sorted(set(one))}
    levels = {name: round(g.uniform(-0.5, 0.5), 2) for name in sorted(set(two))}
    plain = numbers(20260222, N)
    # one feature is the same within a cluster
    x = [(a, b, round(2 * effects[name] ** 2 + 0.5, 2)) for (a, b, _, _), name in zip(plain, one)]
    etas = [0.3 + 0.5 * a - 0.4 * b + 0.2 * c + 0.5 * effects[p] + levels[q]
            for (a, b, c), p, q in zip(x, one, two)]
    linear = [round(3 + 4 * t + (1 + abs(a)) * e, 3) for t, (a, _, _, e) in zip(etas, plain)]
    classes = [int(g.random() < 1 / (1 + math.exp(-t))) for t in etas]
    counts = [poisson(math.exp(t + 0.4 * e), g.random()) for t, (_, _, _, e) in zip(etas, plain)]
    positives = [float("%.4g" % (math.exp(t) * -math.log(g.uniform(0.01, 1) * g.uniform(0.01, 1)) / 2)) for t in etas]
    weights = [round(0.1 + (i * 37 % N) / 40, 3) for i in range(N)]
    frequencies = [i * 7 % 4 for i in range(N)]
    bases = [round((i * 29 % N) / 70 - 1.5, 2) for i in range(N)]

    def rows(ys, features=x, **roles):
        roles = {"cluster1": one, "cluster2": two, **roles}
        return [(y, f, {k: v[i] for k, v in roles.items()}) for i, (y, f) in enumerate(zip(ys, features))]

    near = [(a, a + 1e-6 * b, c) for a, b, c in x]
    every = kinds("1", "2", "1+2")
    yield Case("clusters", rows(linear), *OLS, every)
    yield Case("clusters, classes", rows(classes), *LOGIT, every)
    yield Case("clusters, counts", rows(counts), *POISSON, every)
    yield Case("clusters, positive", rows(positives), *GAMMA, every)
    yield Case("clusters, no intercept", rows(counts), *POISSON, kinds("1"), intercept=False)
    yield Case("clusters, weights", rows(linear, weight=weights), *OLS, kinds("1", "1+2"))
    yield Case("clusters, counts, weights", rows(counts, weight=weights), *POISSON, kinds("1"))
    yield Case("clusters, positive, weights", rows(positives, weight=weights), *GAMMA, kinds("1"))
    yield Case("clusters, counts, offset", rows(counts, base=bases), *POISSON, kinds("1"))
    yield Case("clusters, frequencies", rows(linear, frequency=frequencies), *OLS, kinds("1", "1+2", cr2=False))
    yield Case("clusters, classes, frequencies", rows(classes, frequency=frequencies), *LOGIT, kinds("1", cr2=False))
    # rows of weight 0 may have any values, and their clusters don't count
    yield Case("clusters, zero weights",
               [(1e9 if i % 5 == 0 else y, (1e9, -7, 1e5) if i % 5 == 0 else f,
                 {**r, "weight": 0 if i % 5 == 0 else w, "cluster1": 1000 + i if i % 5 == 0 else r["cluster1"]})
                for i, ((y, f, r), w) in enumerate(zip(rows(linear), weights))], *OLS, kinds("1", "1+2"))
    yield Case("clusters, far from 0", rows([1e6 + y for y in linear], [(1e6 + a, b, c) for a, b, c in x]), *OLS,
               kinds("1"))
    yield Case("clusters, nearly collinear", rows(linear, near), *OLS, kinds("1"))
    yield Case("clusters, classes, nearly collinear", rows(classes, near), *LOGIT, kinds("1"))
    yield Case("clusters, each row one", [(y, f, {**r, "cluster1": i}) for i, (y, f, r) in enumerate(rows(linear))],
               *OLS, kinds("1"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(os.path.join(sys.argv[1], "covariance_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "covariance_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", *ROLES, "x"))
        fits_csv.writerow(("dataset", "family", "link", "vcov", "clusters", "i", "j", "value"))
        for make in published, made_up:
            for case in make():
                for y, x, roles in case.rows:
                    values = [y] + [roles.get(k) for k in ROLES]
                    assert all(v is None or float(text(v)) == v for v in values + list(x))
                    rows_csv.writerow([case.name, *map(text, values), "{%s}" % ",".join(map(text, x))])
                with mp.workdps(DIGITS):
                    lines, beta = case.lines()
                with mp.workdps(CHECK_DIGITS):
                    assert case.lines(beta)[0] == lines, (case.name, "60 digits are too few")
                fits_csv.writerows((case.name, case.family, case.link, *line) for line in lines)
                print("%-40s %s, %s" % (case.name, case.family, " ".join(k + c for k, c in case.kinds)), flush=True)


if __name__ == "__main__":
    main()
