#!/usr/bin/env python3
"""Maxima of likelihoods of counts that lie at the edge of a link's domain, where some means are 0.

Writes edge_rows.csv (problem, y, x as an array) and edge_fits.csv (problem, family, link, theta, deviance, rows at the
edge, coefficients as an array). The predictors of all rows must be 0 or more. A maximum is one with the predictors of
some rows fixed at 0 and no other constraint that matters: all sets of such rows are tried, each maximised by Newton's
method, and the best that keeps the predictors at 0 or more is taken, to 40 decimal digits. scipy's SLSQP must not find
a better one. Needs numpy, scipy and mpmath. Run: python3 test/data/edge_reference.py
"""
import itertools
import os

import mpmath as mp
import numpy as np
from scipy.optimize import LinearConstraint, linprog, minimize

mp.mp.dps = 40
HERE = os.path.dirname(os.path.abspath(__file__))


def parts(family, link, theta, y, eta, log):
    """Log-likelihood of a row, without constants, and its first two derivatives by the linear predictor."""
    if link == 'identity':
        mu, d1, d2 = eta, 1, 0
    else:
        mu, d1, d2 = eta * eta, 2 * eta, 2
    if y == 0 and family == 'poisson':
        return -mu, -d1, -d2
    if y == 0:
        m = mu + theta
        return -theta * log(m / theta), -theta * d1 / m, -theta * (d2 / m - d1 * d1 / m ** 2)
    if family == 'poisson':
        value, g, h = y * log(mu) - mu, y / mu - 1, -y / mu ** 2
    else:
        m = mu + theta
        value = y * log(mu / m) - theta * log(m / theta)
        g, h = y / mu - (y + theta) / m, -y / mu ** 2 + (y + theta) / m ** 2
    return value, g * d1, h * d1 * d1 + g * d2


def likelihood(problem, beta):
    """-inf where a row with a count has no mean."""
    x, y, family, link, theta = problem
    eta = x @ beta
    if np.any(eta[y > 0] <= 0) or (family != 'poisson' and link == 'identity' and np.any(eta <= -0.9 * theta)):
        return -np.inf, None, None
    p = [parts(family, link, theta, a, e, np.log) for a, e in zip(y, eta)]
    return (sum(v[0] for v in p), x.T @ np.array([v[1] for v in p]),
            x.T @ (x * np.array([v[2] for v in p])[:, None]))


def null_space(a, n):
    if len(a) == 0:
        return np.eye(n)
    u, s, vt = np.linalg.svd(np.array(a))
    return vt[np.sum(s > 1e-10 * s[0]):].T


def maximise(problem, fixed):
    """The maximum where the rows in fixed have predictors of 0; None if there is none."""
    x, y, family, link, theta = problem
    basis = null_space([x[i] for i in fixed], x.shape[1])
    if basis.shape[1] == 0:
        return None
    start = linprog(np.zeros(basis.shape[1]), A_ub=-(x[y > 0] @ basis), b_ub=-np.ones(np.sum(y > 0)),
                    bounds=[(None, None)] * basis.shape[1])
    if start.status != 0:
        return None
    gamma = start.x
    if not np.isfinite(likelihood(problem, basis @ gamma)[0]):
        return None
    for _ in range(300):
        value, g, h = likelihood(problem, basis @ gamma)
        g, h = basis.T @ g, basis.T @ h @ basis
        w, v = np.linalg.eigh(h)
        step = -v @ ((v.T @ g) / np.where(w < 0, w, -np.maximum(np.abs(w), 1e-8)))
        if g @ step < 1e-26:
            break
        t = 1.0
        while t > 1e-14 and not likelihood(problem, basis @ (gamma + t * step))[0] >= value + 1e-4 * t * (g @ step):
            t /= 2
        if t <= 1e-14:
            break
        gamma = gamma + t * step
    return basis @ gamma


def polish(problem, beta, fixed):
    """Newton's method on the conditions for a maximum, in many digits."""
    x, y, family, link, theta = problem
    n, m = x.shape[1], len(fixed)
    b = mp.matrix([mp.mpf(float(v)) for v in beta])
    rows = [[mp.mpf(float(v)) for v in r] for r in x]
    multipliers = mp.zeros(m, 1)
    for _ in range(12):
        k, r = mp.zeros(n + m), mp.zeros(n + m, 1)
        for i, row in enumerate(rows):
            eta = mp.fsum(row[j] * b[j] for j in range(n))
            if i in fixed:
                r[n + fixed.index(i)] = -eta
                for j in range(n):
                    k[n + fixed.index(i), j] = k[j, n + fixed.index(i)] = row[j]
            _, g, h = parts(family, link, mp.mpf(theta or 0), int(y[i]), eta, mp.log)
            for j in range(n):
                r[j] -= g * row[j]
                for l in range(n):
                    k[j, l] += h * row[j] * row[l]
        step = mp.lu_solve(k, r)
        b += step[:n]
    eta = [mp.fsum(row[j] * b[j] for j in range(n)) for row in rows]
    return b, eta


def deviance(problem, eta):
    _, y, family, link, theta = problem
    total = mp.mpf(0)
    for a, e in zip(y, eta):
        a, mu = mp.mpf(int(a)), e if link == 'identity' else e * e
        if family == 'poisson':
            total += 2 * (mu if a == 0 else a * mp.log(a / mu) - (a - mu))
        else:
            t = mp.mpf(theta)
            total += 2 * ((a * mp.log(a / mu) if a > 0 else 0) - (a + t) * mp.log((a + t) / (mu + t)))
    return total


def solve(problem):
    x, y, family, link, theta = problem
    zeros = [i for i in range(len(y)) if y[i] == 0]
    distinct = [i for k, i in enumerate(zeros) if not any((x[i] == x[j]).all() for j in zeros[:k])]
    best, of = -np.inf, None
    for size in range(0, x.shape[1]):
        for fixed in itertools.combinations(distinct, size):
            if size and np.linalg.matrix_rank(x[list(fixed)]) < size:
                continue
            beta = maximise(problem, fixed)
            if beta is None or np.min(x @ beta) < -1e-9:
                continue
            value = likelihood(problem, beta)[0]
            if value > best + 1e-10:
                best, of = value, (beta, list(fixed))
    if of is None:
        return None
    beta, fixed = of
    other = minimize(lambda b: -likelihood(problem, b)[0] if np.isfinite(likelihood(problem, b)[0]) else 1e10,
                     beta + 0.01, constraints=[LinearConstraint(x, 0, np.inf)], method='SLSQP')
    assert not (np.min(x @ other.x) >= 0 and -other.fun > best + 1e-6), (best, -other.fun)
    b, eta = polish(problem, beta, fixed)
    nedge = sum(1 for a, e in zip(y, eta) if a == 0 and abs(e) < mp.mpf(10) ** -20)
    if min(eta) < -mp.mpf(10) ** -20:
        return None
    return b, deviance(problem, eta), nedge


def draw(rng):
    n, kind = rng.integers(8, 18), rng.integers(0, 3)
    groups = rng.integers(0, 3, n)
    line = rng.integers(0, 9, n) / 2
    if kind == 0:
        x = np.column_stack([groups == 1, groups == 2])
    elif kind == 1:
        x = line[:, None]
    else:
        x = np.column_stack([groups == 1, line])
    mean = np.maximum(0, 3 * (groups - 1) + (line - 2) * (kind > 0))
    y = rng.poisson(mean)
    return np.column_stack([np.ones(n), x]).astype(float), y


def main():
    rng = np.random.default_rng(41)
    cases = [('poisson', 'identity', None), ('poisson', 'sqrt', None), ('negative binomial', 'identity', 2.0),
             ('negative binomial', 'sqrt', 2.0)]
    number = 0
    with open(os.path.join(HERE, 'edge_rows.csv'), 'w') as rows, open(os.path.join(HERE, 'edge_fits.csv'), 'w') as fits:
        rows.write('problem,y,x\n')
        fits.write('problem,family,link,theta,deviance,nedge,coef\n')
        while number < 100:
            x, y = draw(rng)
            if y.max() == 0 or y.min() > 0 or np.linalg.matrix_rank(x) < x.shape[1]:
                continue
            answers = [(c, solve((x, y, *c))) for c in cases]
            if any(a is None for _, a in answers) or not any(a[2] > 0 for _, a in answers):
                continue
            for a, row in zip(y, x):
                rows.write('%d,%d,"{%s}"\n' % (number, a, ','.join(repr(float(v)) for v in row[1:])))
            for (family, link, theta), (b, d, nedge) in answers:
                fits.write('%d,%s,%s,%s,%s,%d,"{%s}"\n' % (number, family, link, theta or '', mp.nstr(d, 25), nedge,
                                                          ','.join(mp.nstr(mp.chop(v, 1e-25), 25) for v in b)))
            number += 1


if __name__ == '__main__':
    main()
