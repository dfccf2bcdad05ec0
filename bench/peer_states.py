"""Times peers of fits to stored states, over the same rows: scikit-learn, statsmodels, linearmodels and wildboottest,
and R's glmnet, leaps and sandwich if Rscript has them.

peer_states.py [RESULTS]: over the tables that states.sql has made. Prints a JSON line per case: the seconds of the fit
alone, with rows in the peer's memory, where ours has a state; medians of three runs, or one run if it takes more than
ten seconds. RESULTS: the JSON lines of this run so far, for ours. Libraries use their default number of threads.
"""
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from copied import array_columns, as_arrays, copy_out
from peer_fits import emit, short, timed, why_not, with_ones


def lasso_path(x, y):
    from sklearn.linear_model import lasso_path as path
    spread = x.std(axis=0)
    return path((x - x.mean(axis=0)) / spread, y - y.mean(), n_alphas=100, eps=1e-4, precompute=True, tol=1e-7)


def lasso_cv(x, y):
    from sklearn.linear_model import LassoCV
    if hasattr(LassoCV(), "n_alphas"):  # until 1.8
        return LassoCV(cv=10, n_alphas=100, eps=1e-4).fit(x, y)
    return LassoCV(cv=10, alphas=100, eps=1e-4).fit(x, y)


def cluster_errors(x, y, firm):
    import statsmodels.api as sm
    return sm.OLS(y, with_ones(x)).fit(cov_type="cluster", cov_kwds={"groups": firm}).bse


def two_stage(x, y):
    from linearmodels.iv import IV2SLS
    exogenous = with_ones(x[:, 1:6])
    return IV2SLS(y, exogenous, x[:, :1], x[:, 6:8]).fit(cov_type="unadjusted").params


def rolling(x, y):
    from statsmodels.regression.rolling import RollingOLS
    return RollingOLS(y, with_ones(x), window=250).fit(params_only=True).params


def wild(x, y, firm):
    import statsmodels.api as sm
    from wildboottest.wildboottest import wildboottest
    return wildboottest(sm.OLS(y, with_ones(x)), param="x1", cluster=firm, B=9999, seed=1, show=False)


def rows_of(table, x, order=""):
    """Returns the array x, and y."""
    y, x = array_columns(copy_out(f"(SELECT ARRAY[y], {x} FROM {table} {order})"), ["f8", "f8"])
    return x, y[:, 0].copy()


def firms():
    """Returns x, y and each row's cluster."""
    x, firm = as_arrays(copy_out("(SELECT x1, x2, x3, x4, x5, x6, x7, x8, y, firm::float8 "
                                 "FROM gpureg_bench_states_clusters)"))
    return x[:, :8].copy(), x[:, 8].copy(), firm.astype(int)


# the case, with our name; the package; its name; the fit; its arguments
PEERS = [
    ("gpu_enet_path, 100 lambdas, p = 32", "sklearn", "scikit-learn's lasso_path, 100,000 rows",
     lasso_path, lambda: rows_of("gpureg_bench_states_rows", "x[1:32]")),
    ("gpu_enet_path, 100 lambdas, p = 100", "sklearn", "scikit-learn's lasso_path, 100,000 rows",
     lasso_path, lambda: rows_of("gpureg_bench_states_rows", "x")),
    ("gpu_enet_path, 100 lambdas, p = 1000", "sklearn", "scikit-learn's lasso_path, 5,000 rows",
     lasso_path, lambda: rows_of("gpureg_bench_states_wide", "x")),
    ("gpu_enet_cv_agg, 10 folds, p = 32", "sklearn", "scikit-learn's LassoCV, 100,000 rows",
     lasso_cv, lambda: rows_of("gpureg_bench_states_rows", "x[1:32]")),
    ("gpu_ols_cluster_agg, CR1, 100,000 clusters of 8", "statsmodels", "statsmodels' OLS, 1,000,000 rows",
     cluster_errors, firms),
    ("gpu_wild_boot_agg, 99,999 draws, 1,000 clusters of 8", "wildboottest", "wildboottest, 9,999 draws",
     lambda x, y, firm: wild(x, y, firm % 1000), firms),
    ("gpu_iv_solve, p = 8", "linearmodels", "linearmodels' IV2SLS, 100,000 rows",
     two_stage, lambda: rows_of("gpureg_bench_states_rows", "x[1:8]")),
    ("gpu_ols_rolling, 1,000,000 rows of 4, windows of 250", "statsmodels", "statsmodels' RollingOLS",
     rolling, lambda: rows_of("gpureg_bench_states_series", "ARRAY[x1, x2, x3, x4]", "ORDER BY t")),
]

# peers in R: the package, its name, the expression of x and y, and the rows
R_PEERS = [
    ("gpu_enet_path, 100 lambdas, p = 32", "glmnet", "R's glmnet, 100,000 rows", "glmnet(x[, 1:32], y)", "rows"),
    ("gpu_enet_path, 100 lambdas, p = 100", "glmnet", "R's glmnet, 100,000 rows", "glmnet(x, y)", "rows"),
    ("gpu_enet_path, 100 lambdas, p = 1000", "glmnet", "R's glmnet, 5,000 rows", "glmnet(x, y)", "wide"),
    ("gpu_enet_cv_agg, 10 folds, p = 32", "glmnet", "R's cv.glmnet, 100,000 rows", "cv.glmnet(x[, 1:32], y)", "rows"),
    ("gpu_enet_path, binomial, 100,000 rows of 8", "glmnet", "R's glmnet",
     'glmnet(x[, 1:8], y > 0, family = "binomial")', "rows"),
    ("gpu_enet_path, binomial, 100,000 rows of 32", "glmnet", "R's glmnet",
     'glmnet(x[, 1:32], y > 0, family = "binomial")', "rows"),
    ("gpu_enet_cv, binomial, 10 folds, 100,000 rows of 8", "glmnet", "R's cv.glmnet",
     'cv.glmnet(x[, 1:8], y > 0, family = "binomial")', "rows"),
    ("gpu_ols_select, best subsets, p = 30", "leaps", "R's leaps, 100,000 rows",
     "regsubsets(x[, 1:30], y, nvmax = 30, really.big = TRUE)", "rows"),
]


def ours(path):
    """Returns our seconds by case."""
    found = {}
    if path:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line) if line.startswith("{") else {}
                if record.get("section") == "states" and "seconds" in record:
                    found[record["bench"]] = record["seconds"]
    return found


def say(seconds_of, case, bench, seconds, nruns):
    line = {"section": "states", "bench": f"{bench}: {case}", "ran_on": "cpu", "seconds": short(seconds), "runs": nruns}
    if case in seconds_of:
        line |= {"ours": case, "ours_seconds": seconds_of[case], "times_ours": short(seconds / seconds_of[case])}
    emit(**line)


def by_python(seconds_of):
    for case, package, bench, fit, source in PEERS:
        try:
            importlib.import_module(package)
            data = source()
            seconds = [timed(fit, *data)[0]]
            if seconds[0] < 10:
                seconds += [timed(fit, *data)[0] for _ in range(2)]
        except Exception as error:  # a package may be missing, or fail, in any way
            emit(section="states", bench=f"{bench}: {case}", not_run=why_not(error))
            continue
        say(seconds_of, case, bench, statistics.median(seconds), len(seconds))


def by_r(seconds_of, rows):
    """Runs one R process per table, which reads the rows as float8 from files, and times the given expressions."""
    x, y = rows_of(f"gpureg_bench_states_{rows}", "x")
    with tempfile.TemporaryDirectory() as folder:
        x.T.tofile(os.path.join(folder, "x"))
        y.tofile(os.path.join(folder, "y"))
        for case, package, bench, call, of in R_PEERS:
            if of != rows:
                continue
            program = f"""suppressMessages(library({package}))
                y <- readBin("{folder}/y", "double", {len(y)})
                x <- matrix(readBin("{folder}/x", "double", {x.size}), {len(y)})
                for (k in 1:3) cat(system.time({call})[["elapsed"]], "")"""
            done = subprocess.run(["Rscript", "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode == 0:
                seconds = [float(s) for s in done.stdout.split()]
                say(seconds_of, case, bench, statistics.median(seconds), 3)
            else:
                emit(section="states", bench=f"{bench}: {case}", not_run=done.stderr.strip()[-200:])


def main():
    seconds_of = ours(sys.argv[1] if len(sys.argv) > 1 else None)
    by_python(seconds_of)
    if shutil.which("Rscript"):
        by_r(seconds_of, "rows")
        by_r(seconds_of, "wide")
    else:
        emit(section="states", bench="glmnet and leaps", not_run="no Rscript")


if __name__ == "__main__":
    main()
