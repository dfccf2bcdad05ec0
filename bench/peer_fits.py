"""Times the usual way as peers: COPY (FORMAT binary) of gpureg_bench to a client, parsed into numpy's arrays, and
linear and logistic regression there by numpy, scikit-learn, statsmodels, and torch on the CPU, and on a GPU if torch
sees one. All of them fit the same rows, copied once.

Prints a JSON line per fit: the seconds of the copy with its parse, of the fit, and of both. Imports, and a first fit of
1,000 rows that sets the libraries up, are left out. Estimates must agree with the first fit of their kind to five
digits. Figures are medians of five, but from 2 million rows on, which take seconds, of one run (after an untimed one
for the copy).
Usage: peer_fits.py [RESULTS]; RESULTS: the JSON lines of this run so far, for the ratio to gpu_ols_fit and
gpu_logreg_fit.
"""
import importlib
import json
import statistics
import sys
import time

import numpy as np

from copied import as_arrays, copy_out

TIMES_OURS = 50  # target: the usual way should take at least this


def with_ones(x):
    return np.column_stack([np.ones(len(x)), x])


def numpy_lstsq(x, y):
    return np.linalg.lstsq(with_ones(x), y, rcond=None)[0]


def sklearn_ols(x, y):
    from sklearn.linear_model import LinearRegression
    fit = LinearRegression().fit(x, y)
    return np.append(fit.intercept_, fit.coef_)


def sklearn_logistic(x, y):
    """Fits without a penalty, by scikit-learn's fastest solver for few features."""
    from sklearn.linear_model import LogisticRegression
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=100).fit(x, y)
    return np.append(fit.intercept_, fit.coef_[0])


def statsmodels_ols(x, y):
    import statsmodels.api as sm
    return sm.OLS(y, with_ones(x)).fit().params


def statsmodels_logistic(x, y):
    import statsmodels.api as sm
    return sm.Logit(y, with_ones(x)).fit(method="newton", disp=0).params


def on_device(x, y, device):
    """Returns [1 x] and y on the device."""
    import torch
    x = torch.from_numpy(x).to(device)
    return torch.cat([torch.ones(len(x), 1, dtype=x.dtype, device=device), x], dim=1), torch.from_numpy(y).to(device)


def torch_lstsq(x, y, device):
    """Fits by QR."""
    import torch
    a, y = on_device(x, y, device)
    return torch.linalg.lstsq(a, y[:, None], driver="gels").solution[:, 0].cpu().numpy()


def torch_normal(x, y, device):
    """Fits by the normal equations: cuBLAS, on a GPU."""
    import torch
    a, y = on_device(x, y, device)
    return torch.cholesky_solve((a.T @ y)[:, None], torch.linalg.cholesky(a.T @ a))[:, 0].cpu().numpy()


def torch_newton(x, y, device):
    import torch
    a, y = on_device(x, y, device)
    beta = torch.zeros(a.shape[1], dtype=a.dtype, device=device)
    for _ in range(25):
        mu = torch.sigmoid(a @ beta)
        step = torch.linalg.solve(a.T @ (a * (mu * (1 - mu))[:, None]), a.T @ (y - mu))
        beta = beta + step
        if step.abs().max() < 1e-10:
            break
    return beta.cpu().numpy()


def torch_lbfgs(x, y, device):
    import torch
    a, y = on_device(x, y, device)
    beta = torch.zeros(a.shape[1], dtype=a.dtype, device=device, requires_grad=True)
    search = torch.optim.LBFGS([beta], max_iter=200, tolerance_grad=1e-9, tolerance_change=1e-18,
                               line_search_fn="strong_wolfe")

    def loss():
        search.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(a @ beta, y)
        value.backward()
        return value

    search.step(loss)
    return beta.detach().cpu().numpy()


FITS = [
    ("gpu_ols_fit", "numpy", "numpy.linalg.lstsq", numpy_lstsq),
    ("gpu_ols_fit", "sklearn", "scikit-learn's LinearRegression", sklearn_ols),
    ("gpu_ols_fit", "statsmodels", "statsmodels' OLS", statsmodels_ols),
    ("gpu_ols_fit", "torch", "torch.linalg.lstsq", torch_lstsq),
    ("gpu_ols_fit", "torch", "torch, normal equations", torch_normal),
    ("gpu_logreg_fit", "sklearn", "scikit-learn's LogisticRegression", sklearn_logistic),
    ("gpu_logreg_fit", "statsmodels", "statsmodels' Logit", statsmodels_logistic),
    ("gpu_logreg_fit", "torch", "torch, Newton's method", torch_newton),
    ("gpu_logreg_fit", "torch", "torch, LBFGS", torch_lbfgs),
]


def ours(path, nrows):
    """Returns our seconds for the same rows by function, with gpureg.device = auto."""
    found = {}
    if path:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line) if line.startswith("{") else {}
                case = (record.get("section"), record.get("device"), record.get("rows"))
                if case == ("statements", "auto", nrows) and "seconds" in record:
                    found[record["bench"]] = record["seconds"]
    return found


def why_not(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def emit(**fields):
    print(json.dumps({"section": "peers"} | fields), flush=True)


def short(seconds):
    return float(f"{seconds:.4g}")


def timed(work, *arguments):
    started = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - started, result


def copied(table, nruns):
    """Returns median seconds of copy and parse, after an untimed run, and the arrays."""
    times = []
    for run in range(nruns + 1):
        seconds, (x, y) = timed(lambda: as_arrays(copy_out(table)))
        if run > 0:
            times.append(seconds)
    return statistics.median(times), x, y


def devices(package):
    """Returns names and torch's devices; None for packages without a choice."""
    if package != "torch":
        return [("cpu", None)]
    import torch
    return [("cpu", "cpu")] + ([("gpu", "cuda")] if torch.cuda.is_available() else [])


def fit_seconds(fit, x, y, nruns, device):
    """Returns median seconds and coefficients, after a fit of 1,000 rows that starts the library."""
    arguments = [] if device is None else [device]
    fit(x[:1000], y[:1000], *arguments)
    runs = [timed(fit, x, y, *arguments) for _ in range(nruns)]
    return statistics.median(seconds for seconds, _ in runs), runs[-1][1]


def main():
    copy_seconds, x, y = copied("gpureg_bench", 1)
    nruns = 1 if len(x) >= 2000000 else 5
    if nruns > 1:
        copy_seconds, x, y = copied("gpureg_bench", nruns)
    seconds_of = ours(sys.argv[1] if len(sys.argv) > 1 else None, len(x))
    first = {}
    for function, package, name, fit in FITS:
        bench = f"COPY and {name}"
        try:
            importlib.import_module(package)
            places = devices(package)
        except Exception as error:  # an import may fail in any way
            emit(bench=bench, not_run=why_not(error))
            continue
        for where, device in places:
            try:
                seconds, beta = fit_seconds(fit, x, y, nruns, device)
                if not np.allclose(beta, first.setdefault(function, beta), rtol=1e-5, atol=1e-7):
                    raise ArithmeticError("its coefficients are not those of the other fits")
            except Exception as error:  # for example too little memory; the other fits still count
                emit(bench=bench, device=where, rows=len(x), not_run=why_not(error))
                continue
            fields = {"bench": bench, "ran_on": where, "rows": len(x), "features": x.shape[1],
                      "seconds": short(copy_seconds + seconds), "copy_seconds": short(copy_seconds),
                      "fit_seconds": short(seconds), "runs": nruns}
            if function in seconds_of:
                fields |= {"ours": function, "ours_seconds": seconds_of[function],
                           "times_ours": short((copy_seconds + seconds) / seconds_of[function]),
                           "times_ours_at_least": TIMES_OURS}
            emit(**fields)


if __name__ == "__main__":
    main()
