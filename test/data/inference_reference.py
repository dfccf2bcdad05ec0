#!/usr/bin/env python3
"""Reference values for inference.h, as CSV on standard output.

    python3 test/data/inference_reference.py > test/data/inference.csv
    python3 test/data/inference_reference.py --check

Columns: function,arg1,df1,df2,value. The arguments are float8 values written so that strtod reads them back exactly; a
degree of freedom that a function does not have is written as 0; df1 and df2 of pnorm and qnorm are the mean and the
standard deviation. Functions named as R's are lower tails, with _upper upper ones. The values are those of the exact
arguments, to 20 digits. Needs mpmath; --check compares the method below with scipy, with quadrature and with itself.

All tails are incomplete beta functions, Q = I_x(a, b) with y = 1 - x. They are summed from one of the two series with
positive terms only (DLMF 8.17.8), in fixed point with Python's integers:

    I_x(a, b)     = x^a y^b / (a B(a, b)) * sum_n (a + b)_n / (a + 1)_n x^n
    1 - I_x(a, b) = the same with a, b and x, y exchanged

The second needs as many digits more as Q has zeros, and gets them. Incomplete gamma functions come from the series

    P(a, x) = x^a e^-x / Gamma(a + 1) * sum_n x^n / (a + 1)_n

(DLMF 8.7.1) in the same way. Quantiles are Newton's method on logarithms.
"""
import math
import sys
from functools import lru_cache

import mpmath
from mpmath import mp, mpf

DIGITS = 45
INF = float("inf")


def series_length(a, b, x, y, digits):
    """About how many terms the direct series takes."""
    nats_each = -float(mpmath.log(x))
    x, y = float(x), float(y)
    if nats_each == 0.0 or y == 0.0:
        return INF
    peak = max(0.0, (b * x - a * y - 1) / y)
    nats = digits * math.log(10)
    # geometric at the end; while n is small against a and b the terms fall like a Poisson tail of mean (a + b) x
    slow = nats / nats_each
    mean = (a + b) * x
    fast = 3 * mean + 2 * nats if mean + a < 0.2 * (a + b) else INF
    return peak + min(slow, fast)


@lru_cache(maxsize=None)
def log_beta(a, b, prec):
    with mp.workprec(prec):
        return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def as_integers(*values):
    """The values, all binary fractions, times a common power of two."""
    ratios = [v.as_integer_ratio() for v in values]
    scale = max(d for _, d in ratios)
    return [n * (scale // d) for n, d in ratios] + [scale]


def series(a, b, x, y, digits):
    """I_x(a, b) by the direct series to about `digits` digits; a, b float, x, y mpf of enough precision."""
    ia, ib, scale = as_integers(a, b)
    bits = int(digits * 3.33) + 60
    fx = int(mpmath.ldexp(x, bits))
    if fx == 0:
        total = 1 << bits
    else:
        term = total = 1 << bits
        num, den = ia + ib, ia + scale
        while term:
            term = (term * fx >> bits) * num // den
            total += term
            num += scale
            den += scale
    prec = bits + 40 + int(math.log2(a + b + 2)) + 20
    with mp.workprec(prec):
        log_front = a * mpmath.log(x) + b * mpmath.log(y) - log_beta(mpf(a), mpf(b), prec) - mpmath.log(a)
        return mpmath.exp(log_front) * mpf(total) / (1 << bits)


def log10_tail(a, b, x, y):
    """Roughly log10 of I_x(a, b): at most 0, from the front factor where x is below the mean."""
    if b * x > a * y:
        return 0.0
    with mp.workdps(30):
        v = a * mpmath.log(x) + b * mpmath.log(y) - log_beta(mpf(a), mpf(b), 160)
        return min(0.0, float(v / mpmath.log(10)) - math.log10(max(a, b)))


def ibeta(a, b, odds, method=None, digits=DIGITS):
    """I_x(a, b) with x = 1 / (1 + odds), y = odds / (1 + odds); odds(prec) gives y / x."""
    def split(d):
        with mp.workdps(d):
            o = odds()
            return 1 / (1 + o), o / (1 + o)

    x, y = split(60)
    zeros = -log10_tail(a, b, x, y) + 5
    if method is None:
        direct = series_length(a, b, x, y, digits)
        other = series_length(b, a, y, x, digits + zeros) * (1 + zeros / 100)
        method = "direct" if direct <= other else "complement"
    extra = max(0, -int(mpmath.log10(x)), -int(mpmath.log10(y)))
    if method == "direct":
        x, y = split(digits + extra + 40)
        return series(a, b, x, y, digits)
    need = int(digits + zeros)
    x, y = split(need + extra + 40)
    with mp.workdps(need + 30):
        return 1 - series(b, a, y, x, need)


def t_two_sided(t, df, **how):
    if t == 0:
        return mpf(1)
    return ibeta(df / 2, 0.5, lambda: mpf(t) * mpf(t) / mpf(df), **how)


def f_upper(f, df1, df2, **how):
    return ibeta(df2 / 2, df1 / 2, lambda: mpf(f) * mpf(df1) / mpf(df2), **how)


def normal_two_sided(z):
    with mp.workdps(DIGITS):
        return mpmath.erfc(abs(mpf(z)) / mpmath.sqrt(2))


def t_density(t, df):
    with mp.workdps(DIGITS + 15):
        h = mpf(df) / 2
        return mpmath.exp(-(h + 0.5) * mpmath.log1p(t * t / df) - log_beta(h, mpf(0.5), 300)) / mpmath.sqrt(df)


def normal_density(z):
    return mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)


def newton(upper, tail, density, start, digits=32):
    """The x > 0 whose two-sided tail is 2 * upper, for upper < 1/2."""
    goal = 2 * mpf(upper)
    with mp.workdps(digits + 10):
        u = mpmath.log(start)
        for _ in range(100):
            x = mpmath.exp(u)
            p = tail(x)
            slope = -2 * x * density(x) / p
            # log p is nearly linear in log x in the tail of t; near 0, p itself is linear in x
            if goal > 0.4:
                x1 = x + (p - goal) / (2 * density(x))
                step = mpmath.log(x1 / x) if x1 > 0 else mpf(-1)
            else:
                step = (mpmath.log(goal) - mpmath.log(p)) / slope
            step = max(min(step, 20), -20)
            u += step
            if abs(step) < mpf(10) ** (-digits / 2 - 3):
                return mpmath.exp(u)
    raise ArithmeticError("no convergence at %r" % upper)


def start_t(upper, df):
    """A first guess: the power law where that holds, the normal tail (in the limit) elsewhere."""
    z = math.sqrt(max(-2 * math.log(2 * upper), 0.0)) if upper < 0.2 else (0.5 - upper) * 2.5
    if df > 200:
        return mpf(max(z, 1e-300)) * mpmath.exp(mpf(min(z * z / (4 * df), 50)))
    power = mpf(upper * df) ** (mpf(-1) / df) if upper < 0.05 else 0
    return max(power * math.sqrt(df) / 2, mpf(min(z, 3)), mpf(10) ** -300)


def t_upper_quantile(upper, df):
    if upper == 0.5:
        return mpf(0)
    with mp.workdps(60):
        small = min(mpf(upper), 1 - mpf(upper))
        start = start_t(float(small), df)
        root = newton(small, lambda t: t_two_sided_mp(t, df), lambda t: t_density(t, df), start)
        return root if upper < 0.5 else -root


def t_two_sided_mp(t, df):
    """Returns t_two_sided for an argument that is not a float8; 35 digits are enough for Newton's method."""
    return ibeta(df / 2, 0.5, lambda: t * t / mpf(df), digits=36)


def normal_upper_quantile(upper):
    if upper == 0.5:
        return mpf(0)
    with mp.workdps(60):
        small = min(mpf(upper), 1 - mpf(upper))
        start = max(start_t(float(small), INF), mpf(10) ** -300)
        root = newton(small, lambda z: mpmath.erfc(z / mpmath.sqrt(2)), normal_density, start)
        return root if upper < 0.5 else -root


# What to tabulate

T_DF = [1.0, 1.5, 2.0, 2.7, 3.0, 5.0, 7.3, 10.0, 29.0, 33.7, 100.0, 997.5, 1e4, 1e6, 123456789.5, 1e9]
T_DF_MORE = [0.5, 4.0, 60.0, 3e5, 1e8, 1e12, 1e15]
TAILS = [0.9, 0.5, 0.1, 1e-3, 1e-8, 1e-20, 1e-60, 1e-150, 1e-299, 1e-307]
UPPERS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.025, 0.1, 0.25, 0.4, 0.4999, 0.6, 0.975, 1 - 1e-9]
F_DF = [(d1, d2) for d1 in (1.0, 2.0, 2.02, 3.0, 20.0, 33.0, 100.0, 5000.0)
        for d2 in (1.0, 2.0, 4.5, 30.0, 999.0, 1e5, 999999998.0)]
F_RATIOS = [1e-12, 0.1, 0.9, 1.0, 1.1, 2.0, 15.0]


def row(name, arg, df1, df2, value):
    if abs(value) < mpf("1.8e308") and (value == 0 or abs(value) > mpf("1e-320")):
        print("%s,%r,%r,%r,%s" % (name, arg, df1, df2, mpmath.nstr(value, 20, min_fixed=0, max_fixed=0)))


def t_rows():
    quantiles = []
    for df in T_DF + T_DF_MORE:
        for tail in TAILS if df in T_DF else TAILS[2::2]:
            t = t_upper_quantile(tail / 2, df)
            if t < mpf("1e308"):
                row("t_two_sided", float(t), df, 0, t_two_sided(float(t), df))
        for t in (1e-300, 1e-9, -0.03):
            row("t_two_sided", t, df, 0, t_two_sided(t, df))
        for upper in UPPERS if df in T_DF else UPPERS[::3]:
            quantiles.append(("t_upper_quantile", upper, df, 0, t_upper_quantile(upper, df)))
    for t, df in ((1e60, 5.0), (1e300, 1.0), (1.7e308, 1.0), (1e200, 1.5), (1e154, 2.0), (1e155, 2.0), (1e100, 3.0),
                  (1e20, 10.5), (-1e60, 5.0), (1e30, 10.0), (1e5, 60.0), (1e160, 0.5), (1e4, 80.0), (5e11, 27.0)):
        row("t_two_sided", t, df, 0, t_two_sided(t, df))
    for upper, df in ((0.5, 3.0), (0.5, 1e9), (1 - 2.0 ** -53, 1.0), (1 - 2.0 ** -53, 2.5), (1 - 2.0 ** -53, 1e9),
                      (0.5 - 2.0 ** -54, 1.0), (0.5 + 2.0 ** -53, 7.0), (0.5 - 2.0 ** -33, 4.0),
                      (0.5 - 2.0 ** -42, 6.0), (0.5 - 2.0 ** -40, 2.0), (0.5 - 2.0 ** -30, 1e9), (1e-307, 1.0),
                      (1e-307, 1.1), (1e-307, 6.5), (1e-310, 50.0), (1e-307, 1e9), (2e-308, 1e5)):
        quantiles.append(("t_upper_quantile", upper, df, 0, t_upper_quantile(upper, df)))
    for q in quantiles:
        row(*q)


def f_rows():
    for df1, df2 in F_DF:
        for f in F_RATIOS:
            x = 1 / (1 + mpf(f) * df1 / df2)
            if log10_tail(df2 / 2, df1 / 2, x, 1 - x) > -320:
                row("f_upper", f, df1, df2, f_upper(f, df1, df2))
        # down the tail, to the last decades of float8
        f, last = 1.0, 0.0
        for goal in (10, 50, 150, 280, 305, 309):
            lo, hi = 1.0, 1e307 / df1
            for _ in range(40):
                mid = math.sqrt(lo) * math.sqrt(hi)
                x = mpf(1) / (1 + mpf(mid) * df1 / df2)
                if -log10_tail(df2 / 2, df1 / 2, x, 1 - x) < goal:
                    lo = mid
                else:
                    hi = mid
            if hi < 1e306 / df1 and hi > last * 1.001:
                row("f_upper", hi, df1, df2, f_upper(hi, df1, df2))
                last = hi
    for f, df1, df2 in ((1e300, 1.0, 1.0), (1.7e308, 5000.0, 1.0), (1e300, 5000.0, 2.0), (1e-300, 1.0, 5.0),
                        (1e-30, 2.0, 1e9), (1e-300, 0.5, 3.0), (0.9, 3.7, 12.2), (2.2, 777.7, 3e6), (1e100, 1.5, 5.5),
                        (1.2, 5000.0, 5000.0), (0.7, 4999.0, 4321.0), (1.0, 1e6, 1e6), (1.01, 1e6, 1e6),
                        (1.0, 1e5, 1e8), (1.2169061898280271, 68.0, 829230000.0), (1.6, 24.0, 2095.25),
                      (17.469223558117189, 2.01806, 38961600.0),
                      (26629.464462217373, 80.5, 81.25), (1e6, 5000.0, 82.0), (1e6, 100.0, 100.0), (3000.0, 82.0, 1e4)):
        row("f_upper", f, df1, df2, f_upper(f, df1, df2))


def normal_rows():
    for z in (1e-300, 1e-8, 1e-3, 0.1, -0.5, 0.67, 1.0, 1.2, 1.96, 3.0, -5.0, 7.7, 10.0, 15.3, 20.0, 25.0, 30.0, 35.1,
              37.0, 37.5, -37.6, 38.2):
        row("normal_two_sided", z, 0, 0, normal_two_sided(z))
    for upper in UPPERS + [1e-310, 1e-307, 1e-250, 1e-150, 1e-60, 1e-20, 1e-9, 1e-4, 0.01, 0.05, 0.45, 0.49, 0.5,
                           0.5 - 2.0 ** -54, 0.5 + 2.0 ** -53, 0.5 - 2.0 ** -30, 0.75, 0.999, 1 - 2.0 ** -53]:
        row("normal_upper_quantile", upper, 0, 0, normal_upper_quantile(upper))


def gamma_lower(a, x, digits=DIGITS):
    """P(a, x) to about `digits` digits; a float, x mpf."""
    if x == 0:
        return mpf(0)
    bits = int(digits * 3.33) + 80
    ia, scale = as_integers(a)
    term = total = 1 << bits
    with mp.workprec(bits + 60):
        fx = int(mpmath.ldexp(x * scale, bits))
        den = ia + scale
        while term:
            term = (term * fx >> bits) // den
            total += term
            den += scale
    with mp.workprec(bits + 120 + int(math.log2(a + float(x) + 2))):
        log_front = a * mpmath.log(x) - x - mpmath.loggamma(mpf(a) + 1)
        return mpmath.exp(log_front) * mpf(total) / (1 << bits)


def gamma_upper(a, x, digits=DIGITS):
    """1 - P(a, x), with as many digits more as that takes"""
    zeros = 10.0
    if x > a:
        with mp.workdps(30):
            zeros -= min(0.0, float((a * mpmath.log(x) - x - mpmath.loggamma(mpf(a))) / mpmath.log(10)))
    need = int(digits + zeros)
    low = gamma_lower(a, x, need)
    with mp.workdps(need + 30):
        return 1 - low


class Chisq:
    """Tails of chi-squared at an x in mpf, and x times the density there."""
    def __init__(self, df):
        self.a, self.start, self.end = df / 2, math.log(df), math.log(df + 80 * math.sqrt(df) + 3000)

    def lower(self, x, digits=DIGITS):
        return gamma_lower(self.a, x / 2, digits)

    def upper(self, x, digits=DIGITS):
        return gamma_upper(self.a, x / 2, digits)

    def slope(self, x):
        return mpmath.exp(self.a * mpmath.log(x / 2) - x / 2 - mpmath.loggamma(mpf(self.a)))


class F:
    """Tails of the F distribution at an x in mpf, and x times the density there."""
    def __init__(self, df1, df2):
        self.d1, self.d2, self.start, self.end = df1, df2, 0.0, 20000.0

    def lower(self, x, digits=DIGITS):
        return ibeta(self.d1 / 2, self.d2 / 2, lambda: mpf(self.d2) / (x * mpf(self.d1)), digits=digits)

    def upper(self, x, digits=DIGITS):
        return ibeta(self.d2 / 2, self.d1 / 2, lambda: x * mpf(self.d1) / mpf(self.d2), digits=digits)

    def slope(self, x):
        odds = x * mpf(self.d1) / mpf(self.d2)
        a, b = mpf(self.d2) / 2, mpf(self.d1) / 2
        return mpmath.exp(-a * mpmath.log1p(odds) - b * mpmath.log1p(1 / odds) - log_beta(a, b, 300))


def positive_quantile(law, p, lower, digits=32):
    """The x > 0 that leaves p in a tail of the law."""
    goal, low, high = mpf(p), mpf(-20000), mpf(law.end)
    with mp.workdps(digits + 10):
        if p > 0.5:
            goal, lower = 1 - goal, not lower
        u = mpf(law.start)
        for _ in range(300):
            x = mpmath.exp(u)
            tail = (law.lower if lower else law.upper)(x, digits + 6)
            off = mpmath.log(tail / goal) if tail > 0 else mpf(-2000)
            slope = law.slope(x)
            if (off > 0) == lower:
                high = u
            else:
                low = u
            step = (-off if lower else off) * tail / slope if slope > 0 else mpf("inf")
            if abs(step) < mpf(10) ** (-digits / 2 - 5):
                return mpmath.exp(u + step)
            u = u + step if low < u + step < high else (low + high) / 2
    raise ArithmeticError("no convergence at %r" % p)


# Names as R's, and what each has beside the first argument

LAW_TAILS = [1e-307, 1e-299, 1e-200, 1e-100, 1e-60, 1e-20, 1e-8, 1e-3, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-9,
             1 - 2.0 ** -53]
CHISQ_DF = [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.3, 20.0, 61.0, 79.5, 80.0, 81.0, 100.0, 997.5, 1e4, 1e6, 1e9]
LAW_F_DF = [(1.0, 1.0), (1.0, 5.0), (2.0, 3.0), (3.0, 7.5), (10.0, 30.0), (0.5, 0.7), (33.0, 4.5), (100.0, 80.0),
            (5000.0, 20.0), (20.0, 5000.0), (2.0, 2.0), (4.0, 61.0), (79.0, 81.0), (3.0, 1e9), (1e6, 12.0), (1e5, 1e5)]


def law_rows(name, law, df1, df2):
    for side in ("", "_upper"):
        for p in LAW_TAILS:
            x = positive_quantile(law, p, side == "")
            row("q" + name + side, p, df1, df2, x)
            if mpf("2.3e-308") < x < mpf("1.7e308"):
                at = mpf(float(x))
                row("p" + name + side, float(x), df1, df2, law.lower(at) if side == "" else law.upper(at))


def positive_rows():
    for df in CHISQ_DF:
        law_rows("chisq", Chisq(df), df, 0)
    for df1, df2 in LAW_F_DF:
        law_rows("f", F(df1, df2), df1, df2)


def many_df_rows():
    """Where the series take long, a minute and more far above the mean: no quantiles"""
    for df, deviations in ((2.5e10, (-37.0, -9.0, -1.0, 0.5, 6.0, 36.5)), (4e11, (-37.0, -9.0, -1.0, 0.5, 6.0))):
        for z in deviations:
            q = df + z * math.sqrt(2 * df)
            tail = gamma_lower if z < 0 else gamma_upper
            row("pchisq" if z < 0 else "pchisq_upper", q, df, 0, tail(df / 2, mpf(q) / 2))


def symmetric_rows():
    for sign, side in ((-1, ""), (1, "_upper")):
        for df in (0.5, 1.0, 2.5, 5.0, 33.7, 1e4, 1e9):
            for p in LAW_TAILS:
                t = sign * t_upper_quantile(p, df)
                row("qt" + side, p, df, 0, t)
                if 0 < abs(t) < mpf("1e308"):
                    t = float(t)
                    tail = t_two_sided(t, df) / 2
                    row("pt" + side, t, df, 0, tail if t * sign > 0 else 1 - tail)
        for mean, sd in ((0.0, 1.0), (100.0, 15.0), (-1e-3, 1e-8)):
            for p in LAW_TAILS:
                with mp.workdps(DIGITS):
                    q = mean + sd * sign * normal_upper_quantile(p)
                    row("qnorm" + side, p, mean, sd, q)
                    z = (mpf(float(q)) - mean) / mpf(sd)
                    row("pnorm" + side, float(q), mean, sd, mpmath.erfc(sign * z / mpmath.sqrt(2)) / 2)


def self_check():
    """The two series with each other and with quadrature, and both with scipy where scipy is good."""
    from scipy import special, stats
    worst = {"series": 0.0, "quadrature": 0.0, "scipy": 0.0, "scipy quantile": 0.0, "mpmath": 0.0}

    def note(what, got, want):
        worst[what] = max(worst[what], float(abs(got - want) / abs(want)))

    for f, d1, d2 in ((0.5, 3.0, 7.5), (2.0, 10.0, 30.0), (8.0, 1.0, 12.0), (1.3, 100.0, 80.0), (40.0, 5.0, 60.0)):
        direct, other = f_upper(f, d1, d2, method="direct"), f_upper(f, d1, d2, method="complement")
        note("series", direct, other)
        note("scipy", special.fdtrc(d1, d2, f), direct)
    with mp.workdps(30):
        for t, df in ((0.3, 4.0), (2.5, 7.5), (12.0, 300.0), (36.0, 1e9), (30.0, 1e6)):
            # relative to the density at t, for quad's accuracy goal is absolute
            points = [4 ** k / (1 + mpf(t) ** 2 * (df + 1) / (df + mpf(t) ** 2)) for k in range(-2, 6)]
            scale = t_density(mpf(t), df)
            area = 2 * scale * mpmath.quad(lambda s: t_density(t * mpmath.exp(s), df) / scale * t * mpmath.exp(s),
                                           [0] + points + [200])
            note("quadrature", area, t_two_sided(t, df))
    for t, df in ((0.3, 4.0), (2.5, 7.5), (12.0, 300.0), (5.0, 1e4)):
        note("scipy", 2 * special.stdtr(df, -t), t_two_sided(t, df))
    for upper, df in ((0.025, 4.0), (1e-4, 17.5), (0.3, 250.0), (0.9, 3.0)):
        note("scipy quantile", stats.t.isf(upper, df), t_upper_quantile(upper, df))
        note("scipy quantile", stats.norm.isf(upper), normal_upper_quantile(upper))
    for a, x in ((0.5, 2.0), (3.0, 0.1), (40.0, 60.0), (2.5, 30.0)):
        note("scipy", special.gammainc(a, x), gamma_lower(a, mpf(x)))
        note("scipy", special.gammaincc(a, x), gamma_upper(a, mpf(x)))
        with mp.workdps(40):
            note("mpmath", mpmath.gammainc(a, x, regularized=True), gamma_upper(a, mpf(x)))
    for p, df1, df2 in ((0.025, 3.0, 8.0), (1e-4, 20.0, 5.5), (0.7, 2.0, 100.0)):
        note("scipy quantile", stats.f.ppf(p, df1, df2), positive_quantile(F(df1, df2), p, True))
        note("scipy quantile", stats.chi2.isf(p, df1), positive_quantile(Chisq(df1), p, False))
    limits = {"series": 1e-40, "quadrature": 1e-20, "scipy": 1e-12, "scipy quantile": 1e-11,
              "mpmath": 1e-30}
    for what, error in worst.items():
        print("%-15s %.1e %s" % (what, error, "ok" if error < limits[what] else "NOT OK"))
    return all(worst[w] < limits[w] for w in worst)


def main():
    mp.dps = DIGITS
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if self_check() else 1)
    print("function,arg1,df1,df2,value")
    t_rows()
    f_rows()
    normal_rows()
    positive_rows()
    symmetric_rows()
    many_df_rows()


if __name__ == "__main__":
    main()
