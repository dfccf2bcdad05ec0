"""Times peers of generalised linear models and of robust covariances: statsmodels, scikit-learn and glum, over rows
from COPY (FORMAT binary).

peer_models.py models [RESULTS]: over gpureg_bench_models. peer_models.py wide [RESULTS]: the Poisson regression with a
ridge over gpureg_bench_wide. Prints a JSON line per fit: the seconds of the copy with its parse, of the fit, and of
both, and ours for the same fit on the CPU and the GPU; for wide the copy is not counted against the peers. Imports, and
a first fit of 1,000 rows, are left out. Coefficients must agree with the first fit of their kind to four digits:
libraries stop early by default, and are used with their defaults. RESULTS: the JSON lines of this run so far.
"""
import importlib
import json
import statistics
import sys

import numpy as np

from copied import array_columns, as_arrays, copy_out
from peer_fits import emit, short, timed, why_not, with_ones

L2 = 60


def statsmodels_glm(family):
    def fit(x, y):
        import statsmodels.api as sm
        families = {"poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(sm.families.links.Log()),
                    "probit": sm.families.Binomial(sm.families.links.Probit())}
        return sm.GLM(y, with_ones(x), family=families[family]).fit().params
    return fit


def statsmodels_robust(kind):
    def fit(x, y, clusters):
        import statsmodels.api as sm
        options = {"cov_type": kind}
        if kind == "CR1":
            options = {"cov_type": "cluster", "cov_kwds": {"groups": clusters.astype(int)}}
        return sm.OLS(y, with_ones(x)).fit(**options).bse
    return fit


def sklearn_poisson(alpha, solver):
    def fit(x, y):
        from sklearn.linear_model import PoissonRegressor
        model = PoissonRegressor(alpha=alpha * L2 / len(x), solver=solver, max_iter=1000).fit(x, y)
        return np.append(model.intercept_, model.coef_)
    return fit


def glum_poisson(alpha):
    def fit(x, y):
        from glum import GeneralizedLinearRegressor
        model = GeneralizedLinearRegressor(family="poisson", alpha=alpha * L2 / len(x), l1_ratio=0).fit(x, y)
        return np.append(model.intercept_, model.coef_)
    return fit


# the kind of fit, with our name; the response; the package; its name; the fit
MODELS = [
    ("poisson, log link", "n", "statsmodels", "statsmodels' GLM, Poisson", statsmodels_glm("poisson")),
    ("poisson, log link", "n", "sklearn", "scikit-learn's PoissonRegressor", sklearn_poisson(0, "newton-cholesky")),
    ("poisson, log link", "n", "glum", "glum, Poisson", glum_poisson(0)),
    ("gamma, log link", "g", "statsmodels", "statsmodels' GLM, gamma", statsmodels_glm("gamma")),
    ("binomial, probit link", "y", "statsmodels", "statsmodels' GLM, probit", statsmodels_glm("probit")),
    ("gpu_ols_fit with HC1", "g", "statsmodels", "statsmodels' OLS with HC1", statsmodels_robust("HC1")),
    ("gpu_ols_fit with HC3", "g", "statsmodels", "statsmodels' OLS with HC3", statsmodels_robust("HC3")),
    ("gpu_ols_fit with CR1", "g", "statsmodels", "statsmodels' OLS, clusters", statsmodels_robust("CR1")),
]
WIDE = [
    ("poisson, 322 features, l2 = 60", "n", "glum", "glum, Poisson, 322 features", glum_poisson(1)),
    ("poisson, 322 features, l2 = 60", "n", "sklearn",
     "scikit-learn's PoissonRegressor, newton-cholesky, 322 features", sklearn_poisson(1, "newton-cholesky")),
    ("poisson, 322 features, l2 = 60", "n", "sklearn",
     "scikit-learn's PoissonRegressor, lbfgs, 322 features", sklearn_poisson(1, "lbfgs")),
]


def read_models():
    x, last = as_arrays(copy_out(
        "(SELECT x1, x2, x3, x4, x5, x6, x7, x8, y, n, g, c::float8 FROM gpureg_bench_models)"))
    return x[:, :8].copy(), {"y": x[:, 8].copy(), "n": x[:, 9].copy(), "g": x[:, 10].copy(), "c": last}


def read_wide():
    n, x = array_columns(copy_out("(SELECT ARRAY[n], x FROM gpureg_bench_wide)"), ["f8", "f8"])
    return x, {"n": n[:, 0].copy()}


def ours(path, section, nrows):
    """Returns our seconds by case: "poisson, log link, cpu"."""
    found = {}
    if path:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line) if line.startswith("{") else {}
                if (record.get("section"), record.get("rows")) == (section, nrows) and "seconds" in record:
                    found[record["bench"]] = record["seconds"]
    return found


def run(fit, x, columns, response, nruns):
    arguments = [columns["c"]] if "robust" in fit.__qualname__ else []
    fit(x[:1000], columns[response][:1000], *(a[:1000] for a in arguments))
    runs = [timed(fit, x, columns[response], *arguments) for _ in range(nruns)]
    return statistics.median(seconds for seconds, _ in runs), runs[-1][1]


def main():
    section = sys.argv[1]
    copy_seconds, (x, columns) = timed(read_models if section == "models" else read_wide)
    nruns = 1 if x.size >= 16000000 else 3
    seconds_of = ours(sys.argv[2] if len(sys.argv) > 2 else None, section, len(x))
    first = {}
    for kind, response, package, name, fit in MODELS if section == "models" else WIDE:
        bench = f"COPY and {name}" if section == "models" else name
        try:
            importlib.import_module(package)
            seconds, beta = run(fit, x, columns, response, nruns)
            if not np.allclose(beta, first.setdefault(kind, beta), rtol=1e-4, atol=1e-4):
                raise ArithmeticError("its coefficients are not those of the other fits")
        except Exception as error:  # a package may be missing, or fail, in any way
            emit(section=section, bench=bench, not_run=why_not(error))
            continue
        counted = seconds + (copy_seconds if section == "models" else 0)
        for device in ("cpu", "gpu"):
            case = f"{kind}, {device}"
            if case in seconds_of:
                emit(section=section, bench=bench, ran_on="cpu", rows=len(x), features=x.shape[1],
                     seconds=short(counted), copy_seconds=short(copy_seconds), fit_seconds=short(seconds),
                     runs=nruns, ours=case, ours_seconds=seconds_of[case], times_ours=short(counted / seconds_of[case]))


if __name__ == "__main__":
    main()
