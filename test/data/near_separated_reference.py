#!/usr/bin/env python3
"""Samples on the edge of separation, and whether they are separated, in exact rational arithmetic.

Writes near_separated.csv: set, verdict (0: not separated, 1: in part, 2: completely), y, and the features as an array.
Features are decimal fractions, with offsets up to 1.7e9. Of each sample some rows are on a plane, or off it by 1e-15 to
1e-6 of their size, to either side. All candidates for an extreme direction are tried: those that are 0 on as many rows
as there are features. Needs Python alone. Run: python3 test/data/near_separated_reference.py
"""
import itertools
import os
import random
from fractions import Fraction as F


def null_vector(rows):
    """The direction that is 0 on these rows, which are one fewer than their terms; None if there are several."""
    m = [list(r) for r in rows]
    n = len(m[0])
    pivots = []
    r = 0
    for c in range(n):
        k = next((i for i in range(r, len(m)) if m[i][c] != 0), None)
        if k is None:
            continue
        m[r], m[k] = m[k], m[r]
        m[r] = [v / m[r][c] for v in m[r]]
        for i in range(len(m)):
            if i != r and m[i][c] != 0:
                m[i] = [a - m[i][c] * b for a, b in zip(m[i], m[r])]
        pivots.append(c)
        r += 1
        if r == len(m):
            break
    if r < len(rows):
        return None
    free = [c for c in range(n) if c not in pivots][0]
    d = [F(0)] * n
    d[free] = F(1)
    for i, c in enumerate(pivots):
        d[c] = -m[i][free]
    return d


def rank(rows):
    m = [list(r) for r in rows]
    r = 0
    for c in range(len(m[0])):
        k = next((i for i in range(r, len(m)) if m[i][c] != 0), None)
        if k is None:
            continue
        m[r], m[k] = m[k], m[r]
        for i in range(r + 1, len(m)):
            if m[i][c] != 0:
                f = m[i][c] / m[r][c]
                m[i] = [a - f * b for a, b in zip(m[i], m[r])]
        r += 1
    return r


def verdict(rows):
    """None for a sample whose terms are collinear. The sum of all extreme directions separates what can be."""
    signed = [[(1 if y else -1) * v for v in [F(1)] + [F(v) for v in x]] for y, x in rows]
    p = len(signed[0]) - 1
    if rank(signed) < p + 1:
        return None
    total = [F(0)] * (p + 1)
    found = False
    distinct = [list(t) for t in sorted(set(map(tuple, signed)))]
    for some in itertools.combinations(distinct, p):
        d = null_vector(some)
        if d is None:
            continue
        margins = [sum(a * b for a, b in zip(r, d)) for r in distinct]
        if all(m <= 0 for m in margins):
            d = [-v for v in d]
            margins = [-m for m in margins]
        if all(m >= 0 for m in margins) and any(m > 0 for m in margins):
            total = [a + b for a, b in zip(total, d)]
            found = True
    if not found:
        return 0
    return 1 if any(sum(a * b for a, b in zip(r, total)) == 0 for r in signed) else 2


def on_plane(rng, weights):
    """Whole numbers but for the first, whose weighted sum is 0."""
    while True:
        k = [rng.randint(-12, 12) for _ in weights]
        k[0] = -sum(a * b for a, b in zip(weights[1:], k[1:])) / weights[0]
        if abs(k[0]) <= 15:
            return k


def sample(rng):
    p = rng.choice([1, 1, 1, 2, 2, 3])
    offset = [rng.choice([0, 0, 0, 3, 1000, 2020, 1e6, 1.7e9, 1e9]) for _ in range(p)]
    unit = [rng.choice([0.1, 1, 0.01, 0.3, 86400, 1 / 3, 1e-3]) for _ in range(p)]
    weights = [rng.choice([-2, -1, 1, 2, 3, 0.5]) for _ in range(p)]
    rows = []
    for _ in range(rng.randint(6, 14)):
        k = [rng.randint(-12, 12) for _ in range(p)]
        t = sum(a * b for a, b in zip(weights, k))
        rows.append((int(t > 0 if t != 0 else rng.random() < 0.5), [o + u * a for o, u, a in zip(offset, unit, k)]))
    for _ in range(rng.randint(1, 4)):
        x = [o + u * a for o, u, a in zip(offset, unit, on_plane(rng, weights))]
        margin = rng.choice([0, 0] + [10 ** -e for e in range(6, 16)] + [2 ** -52])
        margin *= rng.choice([-1, 1]) * (max(abs(x[0]), unit[0]) if rng.random() < 0.7 else unit[0])
        x[0] += margin
        y = int(rng.random() < 0.5)
        rows.append((y, x))
        if rng.random() < 0.4:
            rows.append((1 - y, list(x)))
        elif rng.random() < 0.4:
            rows.append((1 - y, [x[0] - 2 * margin] + x[1:]))
    return rows


def main():
    rng = random.Random(41)
    number = 0
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'near_separated.csv'), 'w') as out:
        out.write('set,verdict,y,x\n')
        while number < 300:
            rows = sample(rng)
            decided = verdict(rows) if len(set(y for y, _ in rows)) == 2 else None
            if decided is None:
                continue
            for y, x in rows:
                out.write('%d,%d,%d,"{%s}"\n' % (number, decided, y, ','.join(repr(float(v)) for v in x)))
            number += 1


if __name__ == '__main__':
    main()
