#!/usr/bin/env python3
"""Derivatives of a row's likelihood by the negative binomial theta, from mpmath with 400 digits.

    python3 test/data/negbin_reference.py > test/unit/negbin_table.h

Each line has theta, y, mu, and, of the logarithm of y's probability, theta times its derivative by theta and theta^2
times the second, each followed by the size of its terms, as negbin_row.h writes them, which nearly cancel where theta
is large; then that logarithm itself, and half the deviance. Two runs give the same bytes.
"""
import mpmath
from mpmath import mp, mpf

THETAS = ("1e-6", "0.001", "0.125", "0.7", "1", "2.5", "7.25", "14.9", "15", "40", "1e4", "1e8", "1e13", "1e30")
PAIRS = ((0, 0.3), (0, 1e4), (1, 1), (1, 1e-5), (2, 1.75), (0.5, 3), (7, 90), (100, 100.000001), (1000, 3),
         (1e6, 1.1e6))


def number(value):
    mantissa, exponent = float(value).hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent if value else "0"


def line(theta, y, mu):
    x, m, d = y + theta, mu + theta, y - mu
    digamma = mp.psi(0, x) - mp.psi(0, theta)
    gap = mp.log(x / m) - d / m
    slope = mp.psi(1, x) - mp.psi(1, theta) + y / (theta * x)
    first = theta * (digamma + mp.log(theta / m) - d / m)
    second = theta ** 2 * (slope + (d / m) ** 2 / x)
    log_p = mp.loggamma(x) - mp.loggamma(theta) - mp.loggamma(y + 1) - theta * mp.log(m / theta)
    if y > 0:
        log_p += y * mp.log(mu / m)
    sizes = theta * (abs(digamma - mp.log(x / theta)) + abs(gap)), theta ** 2 * (abs(slope) + (d / m) ** 2 / x)
    deviance = -x * mp.log(x / m) + (y * mp.log(y / mu) if y > 0 else 0)
    return [mpmath.nstr(v, 18) for v in (first, sizes[0], second, sizes[1], log_p, deviance)]


def layout(values):
    return ", ".join(values[:3]) + ",\n\t\t" + ", ".join(values[3:])


def main():
    mp.dps = 400
    print("""/*
 * negbin_table.h: derivatives of a row's likelihood by the negative binomial theta, written by
 * test/data/negbin_reference.py. mu is exact.
 */
#ifndef GPUREG_NEGBIN_TABLE_H
#define GPUREG_NEGBIN_TABLE_H

static const struct
{
	double		theta;
	double		y;
	double		mu;
	double		first;
	double		first_size;
	double		second;
	double		second_size;
	double		log_probability;
	double		half_deviance;
}			negbin_rows[] = {""")
    for theta in THETAS:
        for y, mu in PAIRS:
            arguments = float(theta), float(y), float(mu)
            print("\t{%s,\n\t\t%s}," % (", ".join(map(number, arguments)), layout(line(*map(mpf, arguments)))))
    print("""};

#endif							/* GPUREG_NEGBIN_TABLE_H */""")


if __name__ == "__main__":
    main()
