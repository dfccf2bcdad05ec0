#!/usr/bin/env python3
"""Multinomial, ordinal and conditional logistic regressions in 50 digits.

    python3 test/data/classes_reference.py test/data

writes classes_rows.csv and classes_fits.csv there; the suite reads these, and needs neither Python nor its packages. To
change a case, change it here, run this again with mpmath and statsmodels (for the data of anes96), and commit both
files.

classes_rows.csv: dataset, y, x, f1, f2, f3, n, firm. y is the class, x an array of numbers in PostgreSQL's form, f1 to
f3 are factors, n is a frequency and firm a cluster.

  anes96     American National Election Study of 1996: party (0 to 6) of 944 voters by log population, left-right scale,
             age, education and income (statsmodels' anes96, in the public domain)
  iris       Fisher (1936): species by four measures, which separate setosa from the others
  housing    Madsen (1976), as in MASS: satisfaction by influence, type of housing and contact; counts
  alligators Agresti (2013), table 8.1: food by lake, sex and size; counts

classes_fits.csv: dataset, model, link, l2, vcov, class, term, estimate, std_error. Terms are named as gpu_tidy names
them. Lines without a class and with one of the terms log_lik, null_log_lik and n are of the fit. The base is the first
class in the order of classes_bases. All are of the float8 values exactly as they stand, to 20 digits.

HC0 and HC1 are robust covariances, the latter times n / (n - k) for k coefficients; CR1 is clustered by firm, times
g / (g - 1) (n - 1) / (n - k). With l2, l2 / 2 times the sum of squares of the slopes is subtracted from log_lik.
"""
import csv
import sys

import mpmath as mp

mp.mp.dps = 50

ALLIGATORS = {
    "hancock": {("male", "small"): "7 1 0 0 5", ("male", "large"): "4 0 0 1 2", ("female", "small"): "16 3 2 2 3",
                ("female", "large"): "3 0 1 2 3"},
    "oklawaha": {("male", "small"): "2 2 0 0 1", ("male", "large"): "13 7 6 0 0", ("female", "small"): "3 9 1 0 2",
                 ("female", "large"): "0 1 0 1 0"},
    "trafford": {("male", "small"): "3 7 1 0 1", ("male", "large"): "8 6 6 3 5", ("female", "small"): "2 4 1 1 4",
                 ("female", "large"): "0 1 0 0 0"},
    "george": {("male", "small"): "13 10 0 2 2", ("male", "large"): "9 0 0 1 2", ("female", "small"): "3 9 1 0 1",
               ("female", "large"): "8 1 0 0 1"}}
FOODS = ["fish", "invertebrates", "reptiles", "birds", "other"]

HOUSING = """21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15 13 13 7 5 11 14
19 37 17 23 40 3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13 31 21 13 5 6 13"""


def anes96():
    import statsmodels.api as sm
    data = sm.datasets.anes96.load_pandas().data
    for i, r in enumerate(data.itertuples()):
        yield {"y": str(int(r.PID)), "x": [r.logpopul, r.selfLR, r.age, r.educ, r.income], "f": [], "n": 1,
               "firm": i % 37}


def iris():
    from sklearn.datasets import load_iris
    data = load_iris()
    for i, (x, y) in enumerate(zip(data.data, data.target)):
        yield {"y": str(data.target_names[y]), "x": [float(v) for v in x], "f": [], "n": 1, "firm": i % 11}


def housing():
    counts = iter(HOUSING.split())
    for i in range(72):
        cell = i // 3
        yield {"y": ["low", "medium", "high"][i % 3], "x": [],
               "f": [["low", "medium", "high"][cell % 3], ["tower", "apartment", "atrium", "terrace"][cell // 3 % 4],
                     ["low", "high"][cell // 12]], "n": int(next(counts)), "firm": cell % 7}


def alligators():
    i = 0
    for lake, cells in ALLIGATORS.items():
        for (sex, size), counts in cells.items():
            for food, n in zip(FOODS, counts.split()):
                if int(n) > 0:
                    yield {"y": food, "x": [], "f": [lake, sex, size], "n": int(n), "firm": i % 11}
                i += 1


# The classes of each set, the base first; and the levels of each factor, the base first.
BASES = {"anes96": [str(k) for k in range(7)], "iris": ["setosa", "versicolor", "virginica"],
         "housing": ["high", "low", "medium"], "alligators": ["birds", "fish", "invertebrates", "other", "reptiles"]}
FACTORS = {"housing": [["high", "low", "medium"], ["apartment", "atrium", "terrace", "tower"], ["high", "low"]],
           "alligators": [["george", "hancock", "oklawaha", "trafford"], ["female", "male"], ["large", "small"]]}


def design(name, rows):
    factors = FACTORS.get(name, [])
    nx = len(rows[0]["x"])
    names = [f"x[{k + 1}]" for k in range(nx)] + [f"f{k + 1}[{l}]" for k, ls in enumerate(factors) for l in ls[1:]]
    x = [[mp.mpf(v) for v in r["x"]] + [mp.mpf(int(r["f"][k] == l)) for k, ls in enumerate(factors) for l in ls[1:]]
         for r in rows]
    return names, x


def probabilities(row, beta, j, t):
    eta = [mp.mpf(0)] + [mp.fsum(a * b for a, b in zip(row, beta[c * t:(c + 1) * t])) for c in range(j)]
    most = max(eta)
    e = [mp.exp(v - most) for v in eta]
    total = mp.fsum(e)
    return [v / total for v in e], eta, most + mp.log(total)


def multinom(name, rows, l2):
    """Newton's method. Returns names, classes, coefficients, information and scores of the rows."""
    names, x = design(name, rows)
    classes = BASES[name]
    x = [[mp.mpf(1)] + r for r in x]
    j, t = len(classes) - 1, len(x[0])
    y = [classes.index(r["y"]) for r in rows]
    n = [r["n"] for r in rows]
    beta = [mp.mpf(0)] * (j * t)
    penalty = [mp.mpf(0) if k % t == 0 else mp.mpf(l2) for k in range(j * t)]
    for _ in range(60):
        g = [-p * b for p, b in zip(penalty, beta)]
        h = mp.matrix(j * t, j * t)
        for k, p in enumerate(penalty):
            h[k, k] = p
        scores, log_lik = [], mp.mpf(0)
        for row, c, w in zip(x, y, n):
            p, eta, log_sum = probabilities(row, beta, j, t)
            log_lik += w * (eta[c] - log_sum)
            residual = [(1 if c == k else 0) - p[k] for k in range(1, j + 1)]
            scores.append([r * v for r in residual for v in row])
            for k, s in enumerate(scores[-1]):
                g[k] += w * s
            for a in range(j):
                for b in range(a + 1):
                    weight = w * (p[a + 1] * (1 - p[a + 1]) if a == b else -p[a + 1] * p[b + 1])
                    for u in range(t):
                        for v in range(t if a > b else u + 1):
                            h[a * t + u, b * t + v] += weight * row[u] * row[v]
        for a in range(j * t):
            for b in range(a):
                h[b, a] = h[a, b]
        step = mp.lu_solve(h, mp.matrix(g))
        beta = [b + s for b, s in zip(beta, step)]
        if max(abs(s) for s in step) < mp.mpf(10) ** -40:
            break
    else:
        raise SystemExit(f"{name} does not converge")
    return names, classes, beta, h, scores, n, log_lik


def covariance(h, scores, n, firms, vcov):
    inverse = h ** -1
    m = h.rows
    if vcov == "iid":
        return inverse
    nobs = sum(n)
    middle = mp.matrix(m, m)
    if vcov == "CR1":
        sums = {}
        for s, w, f in zip(scores, n, firms):
            sums[f] = [a + w * b for a, b in zip(sums.get(f, [mp.mpf(0)] * m), s)]
        pieces = [(s, 1) for s in sums.values()]
        factor = mp.mpf(len(sums)) / (len(sums) - 1) * (nobs - 1) / (nobs - m)
    else:
        pieces = list(zip(scores, n))
        factor = mp.mpf(nobs) / (nobs - m) if vcov == "HC1" else 1
    for s, w in pieces:
        for a in range(m):
            for b in range(a + 1):
                middle[a, b] += w * s[a] * s[b]
    for a in range(m):
        for b in range(a):
            middle[b, a] = middle[a, b]
    return factor * inverse * middle * inverse


# The classes of ordinal regressions, in their order
ORDERS = {"anes96": BASES["anes96"], "housing": ["low", "medium", "high"]}


def mean(link, u):
    """F and its first and second derivative."""
    if link == "logit":
        f = 1 / (1 + mp.exp(-u))
        return f, f * (1 - f), f * (1 - f) * (1 - 2 * f)
    if link == "probit":
        return mp.ncdf(u), mp.npdf(u), -u * mp.npdf(u)
    e = mp.exp(u)
    return 1 - mp.exp(-e), e * mp.exp(-e), e * (1 - e) * mp.exp(-e)


def ordinal(name, rows, link):
    """Newton's method with the observed information, from thresholds of the classes' shares."""
    names, x = design(name, rows)
    classes = ORDERS[name]
    j, t = len(classes) - 1, len(names)
    y = [classes.index(r["y"]) for r in rows]
    counts = [sum(r["n"] for r in rows if r["y"] == c) for c in classes]
    shares = [mp.mpf(sum(counts[:k + 1])) / sum(counts) for k in range(j)]
    inverse = {"logit": lambda s: mp.log(s / (1 - s)), "probit": lambda s: mp.sqrt(2) * mp.erfinv(2 * s - 1),
               "cloglog": lambda s: mp.log(-mp.log(1 - s))}[link]
    # thresholds, then slopes
    beta = [inverse(s) for s in shares] + [mp.mpf(0)] * t
    for _ in range(60):
        g = [mp.mpf(0)] * (j + t)
        h = mp.matrix(j + t, j + t)
        log_lik = mp.mpf(0)
        for row, c, w in zip(x, y, [r["n"] for r in rows]):
            eta = mp.fsum(a * b for a, b in zip(row, beta[j:]))
            fu, du, ddu = mean(link, beta[c] - eta) if c < j else (mp.mpf(1), mp.mpf(0), mp.mpf(0))
            fl, dl, ddl = mean(link, beta[c - 1] - eta) if c > 0 else (mp.mpf(0), mp.mpf(0), mp.mpf(0))
            p = fu - fl
            log_lik += w * mp.log(p)
            # the gradients of u and l by the parameters
            u = [mp.mpf(int(k == c)) for k in range(j)] + [-v for v in row]
            l = [mp.mpf(int(k == c - 1)) for k in range(j)] + [-v for v in row]
            d = [du * a - dl * b for a, b in zip(u, l)]
            for a in range(j + t):
                g[a] += w * d[a] / p
                for b in range(a + 1):
                    h[a, b] += w * (d[a] * d[b] / p ** 2 - (ddu * u[a] * u[b] - ddl * l[a] * l[b]) / p)
        for a in range(j + t):
            for b in range(a):
                h[b, a] = h[a, b]
        step = mp.lu_solve(h, mp.matrix(g))
        beta = [b + s for b, s in zip(beta, step)]
        if max(abs(s) for s in step) < mp.mpf(10) ** -40:
            break
    else:
        raise SystemExit(f"{name} does not converge")
    return [f"{a}|{b}" for a, b in zip(classes, classes[1:])] + names, beta, h, log_lik


def write_ordinal(out, name, rows, link):
    names, beta, h, log_lik = ordinal(name, rows, link)
    v = h ** -1
    for k, b in enumerate(beta):
        out.writerow([name, "ordinal", link, 0, "iid", "", names[k], show(b), show(mp.sqrt(v[k, k]))])
    out.writerow([name, "ordinal", link, 0, "iid", "", "log_lik", show(log_lik), ""])


def show(v):
    return mp.nstr(v, 20)


def write_multinom(out, name, rows, l2, vcovs):
    names, classes, beta, h, scores, n, log_lik = multinom(name, rows, l2)
    t = len(beta) // (len(classes) - 1)
    counts = [sum(r["n"] for r in rows if r["y"] == c) for c in classes]
    null = mp.fsum(c * mp.log(mp.mpf(c) / sum(counts)) for c in counts)
    for vcov in vcovs:
        v = covariance(h, scores, n, [r["firm"] for r in rows], vcov)
        for k, b in enumerate(beta):
            out.writerow([name, "multinom", "logit", l2, vcov, classes[1 + k // t],
                          (["(intercept)"] + names)[k % t], show(b), show(mp.sqrt(v[k, k]))])
    for term, value in (("log_lik", log_lik), ("null_log_lik", null), ("n", sum(n))):
        out.writerow([name, "multinom", "logit", l2, vcovs[0], "", term, show(mp.mpf(value)), ""])


def main():
    sets = {name: list(make()) for name, make in
            (("anes96", anes96), ("iris", iris), ("housing", housing), ("alligators", alligators))}
    with open(f"{sys.argv[1]}/classes_rows.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow("dataset y x f1 f2 f3 n firm".split())
        for name, rows in sets.items():
            for r in rows:
                out.writerow([name, r["y"], "{" + ",".join(repr(float(v)) for v in r["x"]) + "}",
                              *(r["f"] + [""] * (3 - len(r["f"]))), r["n"], r["firm"]])
    with open(f"{sys.argv[1]}/classes_fits.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow("dataset model link l2 vcov class term estimate std_error".split())
        write_multinom(out, "anes96", sets["anes96"], 0, ["iid", "HC0", "HC1", "CR1"])
        write_multinom(out, "iris", sets["iris"], 1, ["iid"])
        write_multinom(out, "housing", sets["housing"], 0, ["iid", "HC0", "HC1"])
        write_multinom(out, "alligators", sets["alligators"], 0, ["iid", "HC1"])
        for link in ("logit", "probit", "cloglog"):
            write_ordinal(out, "housing", sets["housing"], link)
        write_ordinal(out, "anes96", sets["anes96"], "logit")


if __name__ == "__main__":
    main()
