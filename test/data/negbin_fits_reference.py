#!/usr/bin/env python3
"""Negative binomial fits for test/sql/negbin_fits.sql, in 50 digits.

    python3 test/data/negbin_fits_reference.py test/data

writes negbin_fits.csv there: set, theta, theta_error, log_lik, coef, std_error. It wants mpmath, numpy and scipy, and
nbsmall.csv, 70 rows whose likelihood has a maximum at an infinite theta, and a far better one at a finite theta. Two
runs give the same bytes.

Sets 1 to 60 are counts as single cells have them, 95 of 100 of which are 0; sets 61 to 160 are small samples whose
counts vary more than Poisson's, or less; set 0 is nbsmall.csv. rows_of() makes them from integers, as the test's
function does in SQL.

The profile likelihood is looked at in float8 for 141 thetas from 1e-5 to 1e5 times the mean count, and at an infinite
one. Newton's method of coefficients and the logarithm of theta together, with the second derivatives of the
log-likelihood, then leads from the best theta to the maximum. The conditions of a maximum hold to 40 digits. Standard
errors are glm.nb's: of coefficients by the expected information at that theta, of theta by the second derivative of
the log-likelihood by theta alone.
"""
import csv
import os
import sys

import numpy as np
from mpmath import mp, mpf, matrix, lu_solve, exp, log, loggamma, psi, sqrt, fsum
from scipy.special import gammaln

mp.dps = 50
MODULUS = 2 ** 32


def draw(s, i, k):
    h = (s * 7919 + i * 104729 + k * 15485863) * 2654435761 % MODULUS
    h ^= h >> 15
    h = h * 1103515245 % MODULUS
    return (h ^ (h >> 13)) >> 4


def rows_of(s, folder):
    """(y, x ...) of each row, integers"""
    if s == 0:
        with open(os.path.join(folder, 'nbsmall.csv')) as file:
            return [(int(float(r['y'])), int(float(r['x']))) for r in csv.DictReader(file)]
    rows = []
    for i in range(1, 241 if s <= 60 else 11 + s % 60):
        u = [draw(s, i, k) for k in range(5)]
        if s <= 60:
            x = (u[0] % 41 - 20, u[1] % 2)
            rare = u[2] % 1000 < 45 + x[0] + 20 * x[1]
            y = (0 if not rare else 1 + u[3] % 8 if u[4] % 4 > 0 else u[3] % 500)
        else:
            x = (u[0] % 4, u[1] % 3)
            mean = (1 + x[0]) * (1 + s % 5) * 100
            part = (70 + u[2] % 60 if s % 3 == 0 else u[2] % 100 * (u[3] % 100) // 25 if s % 3 == 1 else
                    800 if u[2] % 10 == 0 else 30)
            y = mean * part // 10000
        rows.append((y,) + x)
    return rows


def coefficients_at(theta, y, x, b):
    """The maximum at a theta, in float8, by Newton's method with halved steps; theta may be infinite"""
    def value(b):
        eta = x @ b
        if np.max(np.abs(eta)) > 600:
            return -np.inf
        mu = np.exp(eta)
        if np.isinf(theta):
            return float(np.sum(y * eta - mu - gammaln(y + 1)))
        return float(np.sum(gammaln(y + theta) - gammaln(theta) - gammaln(y + 1) - theta * np.log1p(mu / theta) +
                            y * (eta - np.log(mu + theta))))
    best = value(b)
    for _ in range(200):
        mu = np.exp(x @ b)
        share = 1.0 if np.isinf(theta) else theta / (mu + theta)
        w = mu if np.isinf(theta) else mu * share * (y + theta) / (mu + theta)
        step = np.linalg.lstsq((x.T * w) @ x, x.T @ ((y - mu) * share), rcond=None)[0]
        size = 1.0
        while size > 1e-12 and not value(b + size * step) >= best - 1e-13 * abs(best):
            size /= 2
        b = b + size * step
        best = value(b)
        if np.max(np.abs(step)) < 1e-10:
            break
    return best, b


def derivatives(beta, tau, y, x):
    """The log-likelihood, its gradient by (beta, log theta), minus its second derivatives, the expected information"""
    p = len(beta)
    theta = exp(tau)
    gradient = [mpf(0)] * (p + 1)
    hessian = matrix(p + 1, p + 1)
    information = matrix(p, p)
    terms = []
    known = {}
    curvature = mpf(0)
    for yi, xi in zip(y, x):
        if yi not in known:
            known[yi] = (psi(0, yi + theta) - psi(0, theta), psi(1, yi + theta) - psi(1, theta),
                         loggamma(yi + theta) - loggamma(theta) - loggamma(mpf(yi) + 1))
        d0, d1, constant = known[yi]
        eta = fsum(b * v for b, v in zip(beta, xi))
        mu = exp(eta)
        m = mu + theta
        terms.append(constant - theta * log(m / theta) + yi * log(mu / m))
        g = theta * (yi - mu) / m
        w = mu * theta * (yi + theta) / m ** 2
        cross = theta * mu * (yi - mu) / m ** 2
        first = d0 + log(theta / m) + 1 - (yi + theta) / m
        second = d1 + 1 / theta - 2 / m + (yi + theta) / m ** 2
        curvature += second
        for j in range(p):
            gradient[j] += g * xi[j]
            hessian[j, p] -= cross * xi[j]
            for k in range(p):
                hessian[j, k] += w * xi[j] * xi[k]
                information[j, k] += mu * theta / m * xi[j] * xi[k]
        gradient[p] += theta * first
        hessian[p, p] -= theta ** 2 * second + theta * first
    for j in range(p):
        hessian[p, j] = hessian[j, p]
    return fsum(terms), gradient, hessian, information, curvature


def poisson(beta, y, x):
    p = len(beta)
    for _ in range(100):
        gradient, information = [mpf(0)] * p, matrix(p, p)
        terms = []
        for yi, xi in zip(y, x):
            eta = fsum(b * v for b, v in zip(beta, xi))
            mu = exp(eta)
            terms.append(yi * eta - mu - loggamma(mpf(yi) + 1))
            for j in range(p):
                gradient[j] += (yi - mu) * xi[j]
                for k in range(p):
                    information[j, k] += mu * xi[j] * xi[k]
        step = lu_solve(information, matrix(gradient))
        if max(abs(v) for v in step) < mpf(10) ** -45:
            return beta, fsum(terms), information
        beta = [b + v for b, v in zip(beta, step)]
    raise RuntimeError('no Poisson fit')


def fit(rows):
    y = [r[0] for r in rows]
    x = [(1,) + r[1:] for r in rows]
    ya, xa = np.array(y, float), np.array(x, float)
    limit, b = coefficients_at(np.inf, ya, xa, np.array([np.log(ya.mean())] + [0.0] * (xa.shape[1] - 1)))
    best = limit, None, b
    for k in range(70, -71, -1):
        theta = ya.mean() * 10 ** (k / 14)
        value, b = coefficients_at(theta, ya, xa, b)
        if value > best[0] + 1e-9:
            best = value, theta, b
    beta = [mpf(float(v)) for v in best[2]]
    p = len(beta)
    if best[1] is None:
        beta, value, information = poisson(beta, y, x)
        theta, theta_error = mpf('inf'), None
    else:
        tau = log(mpf(float(best[1])))
        for _ in range(100):
            value, gradient, hessian, information, curvature = derivatives(beta, tau, y, x)
            step = lu_solve(hessian, matrix(gradient))
            size = min(mpf(1), mpf('0.5') / abs(step[p])) if step[p] else mpf(1)
            beta, tau = [v + size * step[j] for j, v in enumerate(beta)], tau + size * step[p]
            if max(abs(v) for v in step) < mpf(10) ** -42:
                break
        else:
            raise RuntimeError('no maximum')
        value, gradient, hessian, information, curvature = derivatives(beta, tau, y, x)
        assert max(abs(v) for v in gradient) < mpf(10) ** -38 and value > limit
        theta, theta_error = exp(tau), 1 / sqrt(-curvature)
    inverse = information ** -1
    return theta, theta_error, value, beta, [sqrt(inverse[j, j]) for j in range(p)]


def main(folder):
    with open(os.path.join(folder, 'negbin_fits.csv'), 'w', newline='') as file:
        out = csv.writer(file, lineterminator='\n')
        out.writerow(['set', 'theta', 'theta_error', 'log_lik', 'coef', 'std_error'])
        for s in range(161):
            theta, error, value, beta, errors = fit(rows_of(s, folder))
            out.writerow([s, 'Infinity' if mp.isinf(theta) else repr(float(theta)),
                          None if error is None else repr(float(error)), repr(float(value)),
                          '{' + ','.join(repr(float(v)) for v in beta) + '}',
                          '{' + ','.join(repr(float(v)) for v in errors) + '}'])


if __name__ == '__main__':
    main(sys.argv[1])
