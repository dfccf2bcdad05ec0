"""Times pyfixest beside our fits with absorbed effects, over rows from COPY (FORMAT binary).

peer_effects.py [RESULTS]: over gpureg_bench_effects. Prints a JSON line per fit: the seconds of the copy with its
parse, of the fit, and of both, and ours for the same fit. Imports, and a first fit of 1,000 rows, are left out.
pyfixest stops at its default tolerances; its warnings, of rows dropped, are left out. Coefficients must agree with
those of the first fit of a kind to four digits. RESULTS: the JSON lines of this run so far.
"""
import statistics
import sys
import warnings

import numpy as np

from copied import as_arrays, copy_out
from peer_fits import emit, short, timed, why_not
from peer_models import ours

COLUMNS = ["person", "year", "simple", "difficult"] + [f"x{k}" for k in range(1, 11)] + ["n", "y"]
EFFECTS = ["person", "person + year", "person + year + simple", "person + year + difficult"]
DEMEANERS = [("alternating projections", "MapDemeaner"), ("within", "LsmrDemeaner")]


def read():
    import pandas as pd
    columns = ", ".join(c if c[0] in "xy" and c != "year" else f"{c}::float8" for c in COLUMNS)
    x, y = as_arrays(copy_out(f"(SELECT {columns} FROM gpureg_bench_effects)"))
    frame = pd.DataFrame(np.column_stack([x, y]), columns=COLUMNS)
    return frame.astype({c: "int32" for c in COLUMNS[:4]})


def fit(kind, effects, demeaner, frame):
    import pyfixest
    options = {"vcov": "iid", "demeaner": getattr(pyfixest, demeaner)()}
    if kind == "ols":
        formula = "y ~ " + " + ".join(f"x{k}" for k in range(1, 11)) + " | " + effects
        return pyfixest.feols(formula, frame, **options).coef().to_numpy()
    return pyfixest.fepois(f"n ~ x1 + x2 + x3 | {effects}", frame, **options).coef().to_numpy()


def main():
    warnings.simplefilter("ignore")
    try:
        import pyfixest  # noqa: F401
    except Exception as error:  # an import may fail in any way
        emit(section="effects", bench="COPY and pyfixest", not_run=why_not(error))
        return
    copy_seconds, frame = timed(read)
    seconds_of = ours(sys.argv[1] if len(sys.argv) > 1 else None, "effects", len(frame))
    nruns = 1 if len(frame) >= 1000000 else 3
    for kind in ("ols", "poisson"):
        for effects in EFFECTS:
            first = None
            for name, demeaner in DEMEANERS:
                bench, case = f"COPY and pyfixest ({name}), {kind} | {effects}", f"{kind} | {effects}"
                try:
                    fit(kind, effects, demeaner, frame[:1000])
                    runs = [timed(fit, kind, effects, demeaner, frame) for _ in range(nruns)]
                    seconds, beta = statistics.median(s for s, _ in runs), runs[-1][1]
                    first = beta if first is None else first
                    if not np.allclose(beta, first, rtol=1e-4, atol=1e-4):
                        raise ArithmeticError("its coefficients are not those of the other fits")
                except Exception as error:  # a backend may be missing, or fail, in any way
                    emit(section="effects", bench=bench, not_run=why_not(error))
                    continue
                fields = {"bench": bench, "ran_on": "cpu", "rows": len(frame), "seconds": short(copy_seconds + seconds),
                          "copy_seconds": short(copy_seconds), "fit_seconds": short(seconds), "runs": nruns}
                if case in seconds_of:
                    fields |= {"ours": case, "ours_seconds": seconds_of[case],
                               "times_ours": short((copy_seconds + seconds) / seconds_of[case])}
                emit(section="effects", **fields)


if __name__ == "__main__":
    main()
