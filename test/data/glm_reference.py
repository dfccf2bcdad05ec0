#!/usr/bin/env python3
"""Generalised linear models in 60 digits: families, links, weights, frequencies, offsets, a penalty.

    python3 test/data/glm_reference.py test/data

writes glm_rows.csv and glm_fits.csv there; the suite reads these, and needs neither Python nor mpmath. To change a
case, change it here, run this again with mpmath (1.2 or later; gmpy2 makes it faster), and commit both files. Two runs
give the same bytes.

glm_rows.csv: dataset, y, weight, frequency, base, x, as in weights_rows.csv: a column that a dataset doesn't have is
empty; base is the offset of the linear predictor, x an array in PostgreSQL's form, in which factors are 0/1 columns in
R's treatment contrasts. Numbers are float8 in their shortest form, so that strtod reads them back exactly.

glm_fits.csv: dataset, family, link, theta, l2, intercept, term, estimate, std_error. A fit is named by the first six.
Terms are numbers, 0 being the intercept, 1 the first feature; a term that is collinear with earlier ones has no
estimate. Where estimates run off (a Poisson group without counts), the terms that do have Infinity or -Infinity, the
others nothing, and there are no other lines. The other lines of a fit are n, df_residual, rank, deviance,
null_deviance, log_lik, aic, bic, dispersion, and theta where it is estimated, with its standard error. They are of the
float8 values exactly as they stand, to 25 digits.

Conventions are those of R 4.2's glm, summary.glm and logLik.glm, and MASS's negative.binomial and glm.nb:

  weights      prior weights w: the variance of y is dispersion V(mu) / w. Rows of weight 0 are no rows. Binomial: y is
               a share of w trials; in log_lik the gamma function stands for factorials. (R rounds w and w y there to
               whole numbers, which matters only where they aren't.)
  frequencies  each row as if it stood that often
  deviance     binomial 2 w (y log(y / mu) + (1 - y) log((1 - y) / (1 - mu))), poisson 2 w (y log(y / mu) - (y - mu)),
               gamma 2 w ((y - mu) / mu - log(y / mu)), gaussian w (y - mu)^2, negative binomial
               2 w (y log(y / mu) - (y + theta) log((y + theta) / (mu + theta)))
  null         of the intercept and the offset, or of the offset alone without an intercept; theta is the fit's
  dispersion   gaussian, gamma, quasi: sum w (y - mu)^2 / V(mu) / df_residual; else 1, for the negative binomial with a
               given theta too, as summary(fit, dispersion = 1)
  std_error    from the expected information X' diag(w mu'(eta)^2 / V(mu)) X / dispersion, not the observed one
  log_lik      binomial, poisson, negative binomial: sum log p(y), each times its weight but for the binomial; with
               rank parameters, and one more where theta is estimated (glm.nb's).
               gaussian (sum log w - n (log(2 pi deviance / n) + 1)) / 2, n counting rows; rank + 1 parameters.
               gamma: sum w log p(y) with the dispersion deviance / sum w, not the one above; rank + 1 parameters.
               None for quasi families, nor aic and bic.
  aic, bic     2 k - 2 log_lik and k log(n) - 2 log_lik of k parameters, n counting rows of positive weight (R's BIC
               counts rows of weight 0 too), each as often as its frequency says
  theta        by maximum likelihood jointly with the coefficients. The coefficients' errors are those for theta as if
               given; theta's is 1 / sqrt(minus the second derivative by theta alone), as theta.ml has it.
  l2           minimises deviance / 2 + l2 / 2 times the sum of the squared coefficients, without the intercept's, in
               the columns' own units. As docs/reference/glm.md says for gpu_logreg: standard errors are from
               (H + l2 P)^-1, H being the expected information and P the penalty's Hessian, and aic and bic count
               tr(H (H + l2 P)^-1) parameters. df_residual is n - rank all the same; deviances are without penalty.

R bounds eta, mu and mu'(eta) of the binomial links near 0 and 1 (make.link), and so departs from these values where a
fit goes that far.

test/data/glm_reference.R makes the fits with R's glm and MASS's glm.nb and compares. With R 4.2.2 and MASS 7.3-58.2,
221 of the 229 fits that R can make are within 1e-8 of these in every estimate, standard error and statistic, where glm
is started again until it stands still (it stops when the deviance does, with half of the estimates' digits). The rest:
deviances that cancel (counts, perfect; counts, millions; positive, hardly any dispersion), to 1e-16 of their terms; two
of glm.nb, which stops early, to 4e-8; and one whose estimates scoring nears too slowly (counts, offset far from 0), to
2e-3, and to all digits with 5000 steps. R has neither l2 nor frequencies: the latter are compared as repeated rows, and
those in billions and l2 not at all. theta's standard error is compared with theta.ml's at the estimate, as glm.nb's own
is that of an earlier step.

Every fit asserts that its gradient is 0 to 40 digits, and is made again in 90 digits: the 25 that are kept must be the
same.
"""
import collections
import csv
import math
import os
import random
import sys

import mpmath
from mpmath import mp, mpf

import published_data as data
from weights_reference import (BEETLES, BUDWORMS, CHECK_DIGITS, DIGITS, MENARCHE, ZERO, Gram, cholesky, log_dbinom,
                               number, numbers, quarters, summary, text)

STEPS = 400
MAX_ETA = 60


def dot(a, b):
    return mpmath.fdot(a, b)


def converged(size):
    return size < mpf(10) ** (12 - mp.dps)


def estimate_text(value, error):
    """0 where it is by symmetry"""
    return "0" if abs(value) < ZERO * error else mpmath.nstr(value, 25)


def cross(rows, values):
    return [mpmath.fdot(column, values) for column in zip(*rows)]


#
# Links: eta to mu, 1 - mu without cancellation, and mu's first two derivatives
#

Mean = collections.namedtuple("Mean", "mu rest d1 d2")


def of_log(eta):
    mu = mpmath.exp(eta)
    return Mean(mu, 1 - mu, mu, mu)


def of_logit(eta):
    mu, rest = 1 / (1 + mpmath.exp(-eta)), 1 / (1 + mpmath.exp(eta))
    return Mean(mu, rest, mu * rest, mu * rest * (rest - mu))


def of_probit(eta):
    root = mpmath.sqrt(2)
    density = mpmath.exp(-eta * eta / 2) / mpmath.sqrt(2 * mp.pi)
    return Mean(mpmath.erfc(-eta / root) / 2, mpmath.erfc(eta / root) / 2, density, -eta * density)


def of_cloglog(eta):
    t = mpmath.exp(eta)
    rest = mpmath.exp(-t)
    return Mean(-mpmath.expm1(-t), rest, t * rest, t * rest * (1 - t))


def of_identity(eta):
    return Mean(eta, 1 - eta, mpf(1), mpf(0))


def of_sqrt(eta):
    return Mean(eta * eta, 1 - eta * eta, 2 * eta, mpf(2)) if eta > 0 else None


def of_inverse(eta):
    return Mean(1 / eta, 1 - 1 / eta, -1 / eta ** 2, 2 / eta ** 3) if eta != 0 else None


# The link itself, for where iterations start, and the mean
LINKS = {
    "log": (mpmath.log, of_log), "identity": (lambda mu: mu, of_identity), "inverse": (lambda mu: 1 / mu, of_inverse),
    "sqrt": (mpmath.sqrt, of_sqrt), "logit": (lambda mu: mpmath.log(mu / (1 - mu)), of_logit),
    "probit": (lambda mu: mpmath.sqrt(2) * mpmath.erfinv(2 * mu - 1), of_probit),
    "cloglog": (lambda mu: mpmath.log(-mpmath.log(1 - mu)), of_cloglog),
}

#
# Families. Each has the variance and its derivative by mu, a row's deviance, where iterations start, and what mu may be
#


def y_log(y, ratio):
    return y * mpmath.log(ratio) if y != 0 else mpf(0)


class Gaussian:
    known_dispersion = False

    def variance(self, m):
        return mpf(1), mpf(0)

    def deviance(self, y, m):
        return (y - m.mu) ** 2

    def start(self, y, w):
        return y

    def valid(self, m):
        return True


class Gamma(Gaussian):
    def variance(self, m):
        return m.mu ** 2, 2 * m.mu

    def deviance(self, y, m):
        return 2 * ((y - m.mu) / m.mu - mpmath.log(y / m.mu))

    def valid(self, m):
        return m.mu > 0


class Quasipoisson(Gamma):
    def variance(self, m):
        return m.mu, mpf(1)

    def deviance(self, y, m):
        return 2 * (y_log(y, y / m.mu if y else 1) - (y - m.mu))

    def start(self, y, w):
        return y + mpf("0.1")


class Poisson(Quasipoisson):
    known_dispersion = True

    def log_density(self, y, w, m):
        return w * ((y * mpmath.log(m.mu) if y else 0) - m.mu - mpmath.loggamma(y + 1))


class Quasibinomial(Gaussian):
    def variance(self, m):
        return m.mu * m.rest, m.rest - m.mu

    def deviance(self, y, m):
        return 2 * (y_log(y, y / m.mu) + y_log(1 - y, (1 - y) / m.rest))

    def start(self, y, w):
        return (w * y + mpf("0.5")) / (w + 1)

    def valid(self, m):
        return m.mu > 0 and m.rest > 0


class Binomial(Quasibinomial):
    known_dispersion = True

    def log_density(self, y, w, m):
        choose = log_dbinom(y, w, mpf("0.5")) + w * mpmath.log(2)
        return choose + w * ((y * mpmath.log(m.mu) if y else 0) + ((1 - y) * mpmath.log(m.rest) if y != 1 else 0))


class NegativeBinomial(Poisson):
    """The family with a given theta; y are integers"""

    def __init__(self, theta):
        self.theta = theta

    def variance(self, m):
        return m.mu + m.mu ** 2 / self.theta, 1 + 2 * m.mu / self.theta

    def deviance(self, y, m):
        t = self.theta
        return 2 * (y_log(y, y / m.mu if y else 1) - (y + t) * mpmath.log((y + t) / (m.mu + t)))

    def start(self, y, w):
        return y if y else mpf(1) / 6

    def log_density(self, y, w, m):
        t = self.theta
        rising = mpmath.loggamma(t + y) - mpmath.loggamma(t)
        return w * (rising - mpmath.loggamma(y + 1) - t * mpmath.log1p(m.mu / t)
                    + (y * (mpmath.log(m.mu) - mpmath.log(t + m.mu)) if y else 0))

    def by_theta(self, y, m):
        """The log-density's first and second derivatives by theta, and the one by theta and eta for the log link"""
        t, both = self.theta, self.theta + m.mu
        first = mpmath.fsum(1 / (t + k) for k in range(int(y))) + mpmath.log(t / both) + 1 - (t + y) / both
        second = -mpmath.fsum(1 / (t + k) ** 2 for k in range(int(y))) + 1 / t - 2 / both + (t + y) / both ** 2
        return first, second, m.mu * (y - m.mu) / both ** 2


FAMILIES = {"gaussian": Gaussian, "gamma": Gamma, "poisson": Poisson, "quasipoisson": Quasipoisson,
            "binomial": Binomial, "quasibinomial": Quasibinomial}

#
# The fits
#


class FastGram(Gram):
    """Gram with each pair computed once"""

    def __init__(self, rows, weights):
        columns = list(zip(*rows))
        weighted = [[w * v for w, v in zip(weights, c)] for c in columns]
        g = [[mpmath.fdot(weighted[i], columns[j]) for j in range(i + 1)] for i in range(len(columns))]
        self.scale = [1 / mpmath.sqrt(g[i][i]) for i in range(len(g))]
        self.lower = cholesky([[v * self.scale[i] * self.scale[j] for j, v in enumerate(row)]
                               for i, row in enumerate(g)])


class Problem:
    """Rows with their family and link; sum weight * frequency of each row is what counts"""

    def __init__(self, rows, z, family, link, l2=0, intercept=True, name=None):
        self.ys, self.ws, self.fs, self.base = ([r[k] for r in rows] for k in ("y", "weight", "frequency", "base"))
        self.both = [w * f for w, f in zip(self.ws, self.fs)]
        self.z, self.family, self.name = z, family, name
        self.link, self.mean = LINKS[link]
        p = len(z[0])
        self.penalty = [mpf(0) if intercept and j == 0 else mpf(l2) for j in range(p)]

    def means_of(self, etas):
        """None where an eta is outside of the domain"""
        means = []
        for eta in etas:
            m = self.mean(eta)
            if m is None or not self.family.valid(m):
                return None
            means.append(m)
        return means

    def etas(self, beta):
        return [o + dot(x, beta) for o, x in zip(self.base, self.z)]

    def deviance(self, means):
        total = mpmath.fsum(v * self.family.deviance(y, m) for v, y, m in zip(self.both, self.ys, means))
        return mpf(0) if abs(total) < ZERO else total

    def objective(self, beta, means):
        return self.deviance(means) + mpmath.fsum(l2 * b * b for l2, b in zip(self.penalty, beta))

    def gram(self, weights):
        """With the penalty, as rows of its own"""
        p = len(self.penalty)
        extra = [j for j in range(p) if self.penalty[j] > 0]
        return FastGram(self.z + [[mpf(int(i == j)) for i in range(p)] for j in extra],
                        weights + [self.penalty[j] for j in extra])

    def scores(self, means):
        """Derivatives of the log-likelihood by eta times the dispersion: first, minus second's mean, minus second"""
        first, expected, observed = [], [], []
        for v, y, m in zip(self.both, self.ys, means):
            variance, slope = self.family.variance(m)
            first.append(v * (y - m.mu) * m.d1 / variance)
            expected.append(v * m.d1 ** 2 / variance)
            observed.append(expected[-1] - v * (y - m.mu) * (m.d2 - m.d1 ** 2 * slope / variance) / variance)
        return first, expected, observed

    def gradient(self, first, beta):
        return [g - l2 * b for g, l2, b in zip(cross(self.z, first), self.penalty, beta)]

    def assert_zero_gradient(self, first, beta):
        for j, g in enumerate(self.gradient(first, beta)):
            size = mpmath.fsum(abs(x[j] * v) for x, v in zip(self.z, first))
            assert abs(g) <= ZERO * size or size < ZERO, (self.name, j, g)

    def first_beta(self):
        """Least squares on the link's scale, about where the family starts, or the same mean for all"""
        starts = [self.family.start(y, w) for y, w in zip(self.ys, self.ws)]
        etas = [self.link(mu) for mu in starts]
        means = [self.mean(eta) for eta in etas]
        weights, right = [], []
        for v, y, eta, m, o in zip(self.both, self.ys, etas, means, self.base):
            weights.append(v * m.d1 ** 2 / self.family.variance(m)[0])
            right.append(weights[-1] * (eta - o + (y - m.mu) / m.d1))
        beta = self.gram(weights).solve(cross(self.z, right))
        return beta if self.means_of(self.etas(beta)) else self.level_beta()

    def level_beta(self):
        """The mean of y for every row, but for the offset"""
        mean = dot(self.both, self.ys) / mpmath.fsum(self.both)
        level = self.link(mean) - mpmath.fsum(self.base) / len(self.base)
        return [level] + [mpf(0)] * (len(self.penalty) - 1)

    def solve(self, beta=None, enough=converged):
        """Coefficients and means: Fisher scoring, with half steps as needed, then Newton's method"""
        beta = beta or self.first_beta()
        etas = self.etas(beta)
        means = self.means_of(etas)
        assert means, (self.name, "starts outside of the domain")
        size = mpf(1)
        for _ in range(STEPS):
            first, expected, observed = self.scores(means)
            step = self.gram(observed if size < 1e-3 else expected).solve(self.gradient(first, beta))
            full = size = max(abs(dot(x, step)) for x in self.z) / max(max(abs(e) for e in etas), mpf(1e-3))
            if enough(size):
                return beta, means
            old = self.objective(beta, means)
            while True:
                new = [b + s for b, s in zip(beta, step)]
                etas = self.etas(new)
                means = self.means_of(etas)
                if means and (full < 1e-3 or self.objective(new, means) <= old):
                    break
                step = [s / 2 for s in step]
                assert size > mpf(10) ** -60, (self.name, "no way down")
                size /= 2
            size, beta = full, new
        raise AssertionError((self.name, "no convergence"))

    def solve_checked(self, beta=None):
        beta, means = self.solve(beta)
        assert max(abs(e) for e in self.etas(beta)) < MAX_ETA or not isinstance(self.family, Quasibinomial), self.name
        self.assert_zero_gradient(self.scores(means)[0], beta)
        return beta, means


def solve_theta(problem, beta=None):
    """Coefficients and theta of the highest likelihood: in turns, then together by Newton's method"""
    family = problem.family
    for _ in range(6):
        beta, means = problem.solve(beta, lambda size: size < 1e-8)
        for _ in range(8):
            parts = [family.by_theta(y, m) for y, m in zip(problem.ys, means)]
            g, h = (mpmath.fsum(v * p[k] for v, p in zip(problem.both, parts)) for k in (0, 1))
            # by log(theta), so that it stays above 0
            step = g / max(abs(h * family.theta + g), abs(g) / 2)
            family.theta *= mpmath.exp(step)
            if abs(step) < 1e-6:
                break
    for _ in range(STEPS):
        parts = [family.by_theta(y, m) for y, m in zip(problem.ys, means)]
        g, h = (mpmath.fsum(v * p[k] for v, p in zip(problem.both, parts)) for k in (0, 1))
        mixed = cross(problem.z, [v * p[2] for v, p in zip(problem.both, parts)])
        first, _, observed = problem.scores(means)
        gram = problem.gram(observed)
        alone, moved = gram.solve(cross(problem.z, first)), gram.solve(mixed)
        theta_step = (g + dot(mixed, alone)) / (-h - dot(mixed, moved))
        step = [a + theta_step * b for a, b in zip(alone, moved)]
        size = max(max(abs(dot(x, step)) for x in problem.z), abs(theta_step / family.theta))
        if converged(size):
            problem.assert_zero_gradient(first, beta)
            assert abs(g) <= ZERO * mpmath.fsum(abs(v * p[0]) for v, p in zip(problem.both, parts)), problem.name
            return beta, means, 1 / mpmath.sqrt(-h)
        assert size < 1, (problem.name, "no convergence in theta")
        beta = [b + s for b, s in zip(beta, step)]
        family.theta += theta_step
        means = problem.means_of(problem.etas(beta))
    raise AssertionError((problem.name, "no convergence in theta"))


def null_deviance(problem, fit, rows):
    if not fit.intercept:
        return problem.deviance(problem.means_of(problem.base))
    null = Problem(rows, [[mpf(1)] for _ in rows], problem.family, fit.link, name=problem.name)
    return null.deviance(null.solve_checked(null.level_beta())[1])


def log_likelihood(problem, means, deviance, n):
    """(log-likelihood, parameters besides the coefficients), or None for quasi families"""
    family = problem.family
    if isinstance(family, (Poisson, Binomial)):
        return mpmath.fsum(f * family.log_density(y, w, m)
                           for f, y, w, m in zip(problem.fs, problem.ys, problem.ws, means)), 0
    if type(family) is Gaussian:
        log_w = mpmath.fsum(f * mpmath.log(w) for f, w in zip(problem.fs, problem.ws))
        return (log_w - n * (mpmath.log(2 * mp.pi * deviance / n) + 1)) / 2, 1
    if type(family) is Gamma:
        shape = mpmath.fsum(problem.both) / deviance
        constant = shape * mpmath.log(shape) - mpmath.loggamma(shape)
        return mpmath.fsum(v * (constant + shape * mpmath.log(y / m.mu) - mpmath.log(y) - shape * y / m.mu)
                           for v, y, m in zip(problem.both, problem.ys, means)), 1
    return None


Fit = collections.namedtuple("Fit", "family link theta l2 intercept aliased infinite",
                             defaults=(None, 0, True, (), ()))


class Dataset:
    """Rows, each (y, x, {weight, frequency, base}), and the fits to make of them"""

    def __init__(self, name, rows, *fits):
        self.name, self.fits = name, fits
        self.rows = [(float(y), tuple(map(float, x)), {k: float(v) for k, v in roles.items()}) for y, x, roles in rows]
        assert all(roles.keys() == self.rows[0][2].keys() and len(x) == len(self.rows[0][1])
                   for _, x, roles in self.rows), name

    def taking_part(self):
        """The rows that count, as numbers of the working precision"""
        rows = []
        for y, x, roles in self.rows:
            row = {"weight": 1.0, "frequency": 1.0, "base": 0.0, **roles}
            if row["weight"] > 0 and row["frequency"] > 0:
                rows.append({"y": mpf(y), "x": [mpf(v) for v in x], **{k: mpf(v) for k, v in row.items()}})
        return rows

    def design(self, rows, terms):
        return [[mpf(1) if j == 0 else r["x"][j - 1] for j in terms] for r in rows]

    def terms(self, fit):
        return [*range(0 if fit.intercept else 1, len(self.rows[0][1]) + 1)]

    def assert_aliased(self, fit, rows, kept):
        """Each column that is said to be collinear lies in the span of the ones before, where rows count"""
        for j in fit.aliased:
            z, column = self.design(rows, [k for k in kept if k < j]), [r["x"][j - 1] for r in rows]
            b = Gram(z, [mpf(1)] * len(rows)).solve(cross(z, column))
            left = [v - dot(x, b) for x, v in zip(z, column)]
            assert dot(left, left) <= ZERO * dot(column, column), (self.name, j)

    def off_lines(self, fit, rows):
        """Along the terms that run off, rows with counts stay where they are, and others go to 0 or stay"""
        z = self.design(rows, self.terms(fit))
        ways = dict(fit.infinite)
        moves = [dot(x, [mpf(ways.get(j, 0)) for j in self.terms(fit)]) for x in z]
        assert fit.link == "log" and any(moves)
        assert all(m == 0 or m < 0 and r["y"] == 0 for m, r in zip(moves, rows)), self.name
        return [(str(j), {1: "Infinity", -1: "-Infinity", 0: ""}[ways.get(j, 0)], "") for j in self.terms(fit)]

    def fit(self, fit, start=None):
        """([(term, estimate, std_error)] as text, coefficients to start from)"""
        rows = self.taking_part()
        if fit.infinite:
            return self.off_lines(fit, rows), None
        kept = [j for j in self.terms(fit) if j not in fit.aliased]
        self.assert_aliased(fit, rows, kept)
        estimates_theta = fit.theta == "ml"
        family = FAMILIES[fit.family]() if fit.theta is None else NegativeBinomial(mpf(1 if estimates_theta
                                                                                       else fit.theta))
        problem = Problem(rows, self.design(rows, kept), family, fit.link, fit.l2, fit.intercept, (self.name,) + fit)
        beta, means, *theta_error = (solve_theta if estimates_theta else Problem.solve_checked)(problem, start)
        assert all(r["y"] == int(r["y"]) for r in rows) or not isinstance(family, Poisson)
        n, rank = mpmath.fsum(problem.fs), len(beta)
        deviance = problem.deviance(means)
        pearson = mpmath.fsum(v * (y - m.mu) ** 2 / family.variance(m)[0]
                              for v, y, m in zip(problem.both, problem.ys, means))
        dispersion = mpf(1) if family.known_dispersion else pearson / (n - rank)
        variances = problem.gram(problem.scores(means)[1]).inverse_diagonal()
        effective = rank - mpmath.fsum(l2 * v for l2, v in zip(problem.penalty, variances))
        stats = summary(n, rank, deviance, null_deviance(problem, fit, rows), mpf(0), 0)
        likelihood = log_likelihood(problem, means, deviance, n)
        if likelihood:
            k = effective + likelihood[1] + estimates_theta
            stats.update(log_lik=likelihood[0], aic=2 * k - 2 * likelihood[0],
                         bic=k * mpmath.log(n) - 2 * likelihood[0])
        else:
            stats.update(log_lik=None, aic=None, bic=None)
        estimates = {j: (b, mpmath.sqrt(dispersion * v)) for j, b, v in zip(kept, beta, variances)}
        lines = [(str(j), estimate_text(*estimates[j]), mpmath.nstr(estimates[j][1], 25)) if j in estimates
                 else (str(j), "", "") for j in self.terms(fit)]
        lines += [(name, "" if v is None else number(v), "") for name, v in stats.items()]
        lines.append(("dispersion", number(dispersion), ""))
        if estimates_theta:
            lines.append(("theta", mpmath.nstr(family.theta, 25), mpmath.nstr(theta_error[0], 25)))
        return lines, beta


#
# Published data
#

BINARY = [Fit("binomial", link) for link in ("logit", "probit", "cloglog")]
QUASIBINOMIAL = Fit("quasibinomial", "logit")
POISSON, QUASIPOISSON = Fit("poisson", "log"), Fit("quasipoisson", "log")
COUNTS = [Fit("poisson", link) for link in ("log", "identity", "sqrt")]
GAMMAS = [Fit("gamma", link) for link in ("log", "inverse", "identity")]
NEGATIVE_BINOMIAL = Fit("negative binomial", "log", "ml")


def negative_binomial(theta, **others):
    return Fit("negative binomial", "log", theta, **others)


def binomial_data():
    yield Dataset("beetles", [(dead / n, [dose], {"weight": n}) for dose, n, dead in BEETLES], *BINARY, QUASIBINOMIAL)
    yield Dataset("budworm",
                  [(dead / 20, [male, dose, male * dose], {"weight": 20})
                   for male, deaths in zip((1, 0), BUDWORMS) for dose, dead in enumerate(deaths)],
                  *BINARY[1:], QUASIBINOMIAL)
    yield Dataset("menarche", [(reached / n, [age], {"weight": n}) for age, n, reached in MENARCHE], *BINARY[1:])
    yield Dataset("esoph",
                  [(ones / (ones + zeros), data.treatment(age, 6) + data.treatment(alcohol, 4)
                    + data.treatment(tobacco, 4), {"weight": ones + zeros})
                   for age, alcohol, tobacco, ones, zeros in data.ESOPH], *BINARY, QUASIBINOMIAL)
    yield Dataset("infert",
                  [(case, [age, parity] + data.treatment(education, 3) + [spontaneous, induced], {})
                   for case, age, parity, education, spontaneous, induced, _ in data.INFERT], *BINARY)
    yield Dataset("birthwt",
                  [(low, [age, lwt] + data.treatment(race, 3) + others, {})
                   for low, age, lwt, race, *others in data.BIRTHWT], *BINARY, Fit("binomial", "logit", l2=2.5))


def count_data():
    yield Dataset("warpbreaks", list(warpbreaks()), *COUNTS, QUASIPOISSON, NEGATIVE_BINOMIAL, *GAMMAS,
                  Fit("gaussian", "identity"), Fit("gaussian", "log"))
    yield Dataset("InsectSprays",
                  [(count, data.treatment(i // 12, 6), {}) for i, (count,) in enumerate(data.INSECT_SPRAYS)],
                  *COUNTS, QUASIPOISSON, NEGATIVE_BINOMIAL)
    ships = [(incidents, data.treatment(kind, 5) + data.treatment(year, 4) + [period],
              {"base": float(mpmath.log(service))})
             for incidents, service, kind, year, period in data.SHIPS if service > 0]
    yield Dataset("ships", ships, POISSON, QUASIPOISSON, Fit("poisson", "log", intercept=False))
    yield Dataset("Insurance",
                  [(claims, data.treatment(district, 4) + data.treatment(group, 4) + data.treatment(age, 4),
                    {"base": float(mpmath.log(holders))}) for claims, holders, district, group, age in data.INSURANCE],
                  POISSON, QUASIPOISSON, negative_binomial(100))
    yield Dataset("quine",
                  [(days, [eth, sex] + data.treatment(age, 4) + [learner], {})
                   for days, eth, sex, age, learner in data.QUINE],
                  POISSON, QUASIPOISSON, NEGATIVE_BINOMIAL, negative_binomial(1.5), negative_binomial(1))
    # the example of MASS's epil, without its shifts of log(base / 4) and log(age) to their means
    yield Dataset("epil", [(y, x, {}) for y, x, _ in epil()], POISSON, NEGATIVE_BINOMIAL)


def warpbreaks():
    for i, (breaks,) in enumerate(data.WARPBREAKS):
        yield breaks, [i // 27] + data.treatment(i // 9 % 3, 3), {}


def epil():
    """y, x and the patient"""
    for subject, (*counts, treated, base, age) in enumerate(data.EPIL):
        log_base = float(mpmath.log(mpf(base) / 4))
        for period, y in enumerate(counts):
            yield y, [log_base, treated, log_base * treated, float(mpmath.log(age)), int(period == 3)], subject + 1


def positive_data():
    for lot in 1, 2:
        yield Dataset("clotting, lot %d" % lot, [(r[lot], [float(mpmath.log(r[0]))], {}) for r in data.CLOTTING],
                      *GAMMAS[:2])
    yield Dataset("ToothGrowth",
                  [(length, [int(i < 30), (0.5, 1, 2)[i // 10 % 3]], {}) for i, (length,) in
                   enumerate(data.TOOTH_GROWTH)],
                  *GAMMAS, Fit("gaussian", "identity"), Fit("gaussian", "log"))
    yield Dataset("stackloss", [(loss, x, {}) for loss, *x in data.STACKLOSS], Fit("gaussian", "identity"),
                  GAMMAS[0], Fit("gaussian", "log"))


#
# Cases that were made up, with generators of fixed seeds
#

N = 60
FRACTIONS = [round(0.1 + (i * 37 % N) / 7, 3) for i in range(N)]
FREQUENCIES = [i * 7 % 5 for i in range(N)]
EXPOSURES = [float(mpmath.log(round(0.2 + (i * 53 % N) / 5, 1))) for i in range(N)]
BASES = [round((i * 29 % N) / 20 - 1.5, 2) for i in range(N)]


def poisson(mean, u):
    """The count where the distribution function passes u"""
    k, p = 0, math.exp(-mean)
    total = p
    while u > total and k < 1000:
        k += 1
        p *= mean / k
        total += p
    return k


def with_roles(rows, **roles):
    return [(y, x, {k: v[i] for k, v in roles.items()}) for i, (y, x) in enumerate(rows)]


def without_intercept(*fits):
    return [f._replace(intercept=False) for f in fits]


def count_rows():
    """Counts with more variance than Poisson's"""
    g = random.Random(20260211)
    for a, b, c, _ in numbers(20260212, N):
        mean = math.exp(0.8 + 0.5 * a - 0.4 * b + 0.3 * c)
        excess = -math.log(g.uniform(0.001, 1) * g.uniform(0.001, 1)) / 2
        yield poisson(mean * excess, g.random()), (a, b, c)


def positive_count_rows():
    g = random.Random(20260213)
    for a, b, c, _ in numbers(20260214, N):
        a, b, c = (round(v + 2, 2) for v in (a, b, c))
        yield poisson(1.5 + 1.2 * a + 0.5 * b + 0.8 * c, g.random()), (a, b, c)


def counts():
    rows, positive = list(count_rows()), list(positive_count_rows())
    all_log = POISSON, QUASIPOISSON, NEGATIVE_BINOMIAL, negative_binomial(1.5)
    yield Dataset("counts", with_roles(rows), *all_log, *without_intercept(*all_log))
    yield Dataset("counts, l2", with_roles(rows),
                  *(f._replace(l2=l2, intercept=intercept) for f in (POISSON, negative_binomial(1.5))
                    for l2 in (0.5, 20) for intercept in (True, False)))
    yield Dataset("counts, positive features", with_roles(positive), *COUNTS, *without_intercept(POISSON),
                  COUNTS[1]._replace(l2=0.5), COUNTS[2]._replace(l2=0.5))
    for name, roles in (("weights", {"weight": FRACTIONS}), ("frequencies", {"frequency": FREQUENCIES}),
                        ("log exposure", {"base": EXPOSURES}), ("offset far from 0", {"base": [20 + o for o in BASES]}),
                        ("weights and offset", {"weight": FRACTIONS, "base": BASES}),
                        ("frequencies and offset", {"frequency": FREQUENCIES, "base": BASES})):
        yield Dataset("counts, " + name, with_roles(rows, **roles), *all_log,
                      *without_intercept(POISSON, QUASIPOISSON, negative_binomial(1.5)))
    yield Dataset("counts, weights and frequencies", with_roles(rows, weight=FRACTIONS, frequency=FREQUENCIES),
                  POISSON, QUASIPOISSON)
    for name, roles in (("weights", {"weight": FRACTIONS}), ("frequencies", {"frequency": FREQUENCIES}),
                        ("offset", {"base": [round(o + 1.6, 2) for o in BASES]})):
        yield Dataset("counts, positive features, " + name, with_roles(positive, **roles), *COUNTS[1:])
    # rows of weight 0 may have any values, however far out
    yield Dataset("counts, zero weights",
                  [(1e9 if i % 3 == 0 else y, (1e9, -7, 1e5) if i % 3 == 0 else x, {"weight": 0 if i % 3 == 0 else w})
                   for i, ((y, x), w) in enumerate(zip(rows, FRACTIONS))], POISSON, NEGATIVE_BINOMIAL)
    yield Dataset("counts, frequencies in billions",
                  with_roles(rows, frequency=[10 ** (i * 7 % 10) + i for i in range(N)]), POISSON, QUASIPOISSON)
    # collinear only where rows count
    yield Dataset("counts, collinear",
                  [(y, (a, b, a - b + (i % 4 == 0), c), {"weight": 0 if i % 4 == 0 else w})
                   for i, ((y, (a, b, c)), w) in enumerate(zip(quarters(rows), FRACTIONS))],
                  *(f._replace(aliased=(3,)) for f in (POISSON, QUASIPOISSON, negative_binomial(1.5))))
    yield Dataset("counts, nearly collinear", [(y, (a, a + 1e-6 * c, b), {}) for y, (a, b, c) in rows],
                  POISSON, NEGATIVE_BINOMIAL)
    yield Dataset("counts, years", [(y, (1950 + i % 40, b), {}) for i, (y, (_, b, _)) in enumerate(rows)],
                  POISSON, negative_binomial(1.5))
    yield from odd_counts()


def odd_counts():
    plain = numbers(20260215, N)
    # about as many as the model has it, so that the deviance is some parts in a million of its terms
    yield Dataset("counts, millions",
                  [(round(m + 0.7 * e * math.sqrt(m)), x, {}) for *x, e in plain
                   for m in (math.exp(14 + 0.5 * x[0] - 0.4 * x[1] + 0.3 * x[2]),)],
                  POISSON, QUASIPOISSON, negative_binomial(1000))
    yield Dataset("counts, rare", [(int(i % 11 == 3), (a, b), {}) for i, (a, b, _, _) in enumerate(plain)], *COUNTS[:1])
    yield Dataset("counts, perfect", [(4 if i % 2 else 9, (i % 2,), {}) for i in range(6)], *COUNTS)
    zeros = [(0 if i % 4 == 2 else 1 + i * 7 % 5, data.treatment(i % 4, 4), {}) for i in range(24)]
    yield Dataset("counts, a group of zeros", zeros, POISSON._replace(infinite=((2, -1),)))
    yield Dataset("counts, a first group of zeros", [(0 if i % 4 == 0 else y, x, {}) for i, (y, x, _) in
                                                     enumerate((1 + i * 7 % 5, x, {}) for i, (_, x, _) in
                                                               enumerate(zeros))],
                  POISSON._replace(infinite=((0, -1), (1, 1), (2, 1), (3, 1))),
                  POISSON._replace(l2=1))


def classes():
    g = random.Random(20260216)
    plain = numbers(20260217, N)
    chances = [1 / (1 + math.exp(-(0.4 + a - 0.7 * b + 0.3 * c))) for a, b, c, _ in plain]
    rows = [(int(g.random() < chance), (a, b, c)) for (a, b, c, _), chance in zip(plain, chances)]
    shares = [(round(n * min(max(chance + 0.03 * e, 0.01), 0.99)) / n, (a, b, c))
              for (a, b, c, e), chance, n in zip(plain, chances, TRIALS)]
    others = BINARY[1:]
    yield Dataset("classes", with_roles(rows), *BINARY, *without_intercept(*BINARY))
    yield Dataset("classes, l2", with_roles(rows),
                  *(f._replace(l2=l2, intercept=intercept) for f in BINARY
                    for l2, intercept in ((0.5, True), (0.5, False), (20, True))))
    for name, roles in (("frequencies", {"frequency": FREQUENCIES}), ("offset", {"base": BASES}),
                        ("weights", {"weight": FRACTIONS}),
                        ("weights and offset", {"weight": FRACTIONS, "base": BASES})):
        yield Dataset("classes, " + name, with_roles(rows, **roles), *others, *without_intercept(*others))
    yield Dataset("classes, collinear",
                  [(y, (a, b, a - b + (i % 4 == 0), c), {"weight": 0 if i % 4 == 0 else 1})
                   for i, (y, (a, b, c)) in enumerate(quarters(rows))],
                  *(f._replace(aliased=(3,)) for f in others))
    yield Dataset("classes, nearly collinear", [(y, (a, a + 1e-6 * c, b), {}) for y, (a, b, c) in rows], *others)
    yield Dataset("classes, years", [(y, (1950 + i % 40, b), {}) for i, (y, (_, b, _)) in enumerate(rows)], *others)
    yield Dataset("trials", with_roles(shares, weight=TRIALS), *BINARY, QUASIBINOMIAL,
                  *without_intercept(*others, QUASIBINOMIAL))
    yield Dataset("trials, offset", with_roles(shares, weight=TRIALS, base=BASES), *others, QUASIBINOMIAL,
                  *without_intercept(QUASIBINOMIAL))
    yield Dataset("trials, frequencies", with_roles(shares, weight=TRIALS, frequency=FREQUENCIES), *others,
                  QUASIBINOMIAL)
    yield Dataset("shares", [(round(0.02 + 0.96 * abs(chance - 0.1 * (i % 3)), 3), x, {"weight": w})
                             for i, ((_, x), chance, w) in enumerate(zip(rows, chances, FRACTIONS))], QUASIBINOMIAL)
    yield Dataset("shares without weights", [(round(0.02 + 0.96 * abs(chance - 0.1 * (i % 3)), 3), x, {})
                                             for i, ((_, x), chance) in enumerate(zip(rows, chances))], QUASIBINOMIAL)
    # a million trials each, from chances of some parts in a million to one short of as much
    for link, chance in (("probit", lambda t: math.erfc(-t / math.sqrt(2)) / 2),
                         ("cloglog", lambda t: -math.expm1(-math.exp(t)))):
        lowest = -5 if link == "probit" else -11
        highest = 5 if link == "probit" else 2.6
        etas = [lowest + (highest - lowest) * i / 24 for i in range(25)]
        yield Dataset("both tails, " + link,
                      [(round(1e6 * chance(t) * (1 + 0.01 * (i % 3 - 1) * (1 - chance(t)))) / 1e6,
                        (round(t, 3), i % 2), {"weight": 1e6}) for i, t in enumerate(etas)], Fit("binomial", link))


TRIALS = [1 + i * 11 % 17 for i in range(N)]


def positives():
    g = random.Random(20260218)
    rows = []
    for a, b, c, _ in numbers(20260219, N):
        a, b, c = (round(v + 2, 2) for v in (a, b, c))
        excess = -math.log(g.uniform(0.01, 1) * g.uniform(0.01, 1) * g.uniform(0.01, 1)) / 3
        rows.append((float("%.3g" % ((2 + 1.5 * a + 0.7 * b + c) * excess)), (a, b, c)))
    gaussian = Fit("gaussian", "identity"), Fit("gaussian", "log")
    log = GAMMAS[0]
    yield Dataset("positive", with_roles(rows), *GAMMAS, *gaussian, *without_intercept(log))
    for name, roles in (("weights", {"weight": FRACTIONS}), ("frequencies", {"frequency": FREQUENCIES}),
                        ("weights and frequencies", {"weight": FRACTIONS, "frequency": FREQUENCIES})):
        yield Dataset("positive, " + name, with_roles(rows, **roles), *GAMMAS, *gaussian, *without_intercept(log))
    for name, roles in (("log exposure", {"base": EXPOSURES}), ("weights and offset",
                                                               {"weight": FRACTIONS, "base": BASES})):
        yield Dataset("positive, " + name, with_roles(rows, **roles), log, *gaussian, *without_intercept(log))
    small = [round((i * 29 % N) / 500, 3) for i in range(N)]
    yield Dataset("positive, offset", with_roles(rows, base=small), *GAMMAS)
    yield Dataset("positive, zero weights",
                  [(1e9 if i % 3 == 0 else y, (1e9, -7, 1e5) if i % 3 == 0 else x, {"weight": 0 if i % 3 == 0 else w})
                   for i, ((y, x), w) in enumerate(zip(rows, FRACTIONS))], *GAMMAS, gaussian[1])
    yield Dataset("positive, collinear", [(y, (a, b, a - b, c), {}) for y, (a, b, c) in quarters(rows)],
                  *(f._replace(aliased=(3,)) for f in GAMMAS))
    yield Dataset("positive, nearly collinear", [(y, (a, a + 1e-6 * c, b), {}) for y, (a, b, c) in rows], log)
    yield Dataset("positive, years", [(y, (1950 + i % 40, b), {}) for i, (y, (_, b, _)) in enumerate(rows)], log)
    yield Dataset("positive, magnitudes",
                  [(float("%.6g" % (y * math.exp(3 * (a - 2) + 2 * (b - 2)))), (a, b, c), {}) for y, (a, b, c) in rows],
                  log)
    yield Dataset("positive, hardly any dispersion",
                  [(float("%.12g" % (math.exp(1 + 0.3 * a - 0.2 * b) * (1 + 1e-7 * c))), (a, b), {})
                   for _, (a, b, c) in rows], log)


#
# The files
#

def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(os.path.join(sys.argv[1], "glm_rows.csv"), "w", newline="") as rows_file, \
            open(os.path.join(sys.argv[1], "glm_fits.csv"), "w", newline="") as fits_file:
        rows_csv = csv.writer(rows_file, lineterminator="\n")
        fits_csv = csv.writer(fits_file, lineterminator="\n")
        rows_csv.writerow(("dataset", "y", "weight", "frequency", "base", "x"))
        fits_csv.writerow(("dataset", "family", "link", "theta", "l2", "intercept", "term", "estimate", "std_error"))
        for make in binomial_data, count_data, positive_data, classes, counts, positives:
            for dataset in make():
                for y, x, roles in dataset.rows:
                    values = [y] + [roles.get(k) for k in ("weight", "frequency", "base")]
                    assert all(v is None or float(text(v)) == v for v in values + list(x))
                    rows_csv.writerow([dataset.name, *map(text, values), "{%s}" % ",".join(map(text, x))])
                for fit in dataset.fits:
                    with mp.workdps(DIGITS):
                        lines, beta = dataset.fit(fit)
                    with mp.workdps(CHECK_DIGITS):
                        assert dataset.fit(fit, beta)[0] == lines, (dataset.name, fit, "60 digits are too few")
                    theta = fit.theta if fit.theta in (None, "ml") else text(fit.theta)
                    key = (dataset.name, fit.family, fit.link, theta, text(fit.l2), "ft"[fit.intercept])
                    fits_csv.writerows(key + line for line in lines)
                    print("%-35s %s" % (dataset.name, " ".join(str(k) for k in key[1:] if k is not None)))


if __name__ == "__main__":
    main()
