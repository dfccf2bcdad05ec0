#!/usr/bin/env python3
"""Reference values for draw.h, philox.h and projection.h, as CSV on standard output.

    python3 test/data/projection_reference.py > test/data/projection.csv

Written from the comments in draw.h and projection.h, not from their code. Needs numpy, and mpmath for the check of the
thresholds against the binomial distribution; fails if a check does. Takes a quarter of a minute.

Columns: kind,k,seed,density,n,recipe,values. Seeds are signed decimal, densities are decimal and read back exactly, values
are separated by blanks; columns that a kind doesn't have are empty.

    philox      values: the counter's four words, the key's two, the four results (hexadecimal)
    thresholds  values: those of a stratum of n rows (hexadecimal)
    scale       values: the bits of the float8 1 / sqrt(k p) (hexadecimal)
    column      column n of S, by row: +row or -row, by sign
    columns     columns 0 .. n - 1 of S: how many nonzeros, and the FNV-1a hash (64 bits, hexadecimal) of, for each nonzero by
                column and row, the column (8 bytes) and then row + 2^31 (sign is -) (4 bytes), little-endian
    project     y of the vector of length n that the recipe gives: float4 bits (hexadecimal)
    projected   likewise, but FNV-1a of the 4 k bytes of y, little-endian

Recipes. x[j] comes from the Philox block with counter (low half of j, high half of j, 0, 0) and key (0x78, 0):
m = (word 0 >> 8) - 2^23, and x[j] is

    even        m 2^-23
    mixed       m 2^(word 1 % 201 - 123)
    cancel      where word 1 % 64 = 0, 2^60, with the sign - if word 2 is odd; else m 2^-14. Where the large ones cancel, the
                result tells the order of the sums
    sparse      where word 1 % 16 = 0, m 2^-23; else 0, with the sign - if word 1 % 16 = 1
"""
import math
import sys

import mpmath
import numpy as np

MASK32 = 2 ** 32 - 1
MASK64 = 2 ** 64 - 1
CHUNK = 65536


def philox(counter, key):
    """Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011)."""
    a, b, c, d = counter
    key0, key1 = key
    for _ in range(10):
        left = 0xD2511F53 * a
        right = 0xCD9E8D57 * c
        a, b, c, d = right >> 32 ^ b ^ key0, right & MASK32, left >> 32 ^ d ^ key1, left & MASK32
        key0 = key0 + 0x9E3779B9 & MASK32
        key1 = key1 + 0xBB67AE85 & MASK32
    return a, b, c, d


def thresholds(n, p):
    """Returns the thresholds of a stratum of n rows; floats are IEEE doubles."""
    w = total = 1.0
    sums = [total]
    for m in range(n):
        w = w * (((n - m) * p) / ((m + 1) * (1.0 - p)))
        if total + w == total and m + 1 > n * p:
            break
        total = total + w
        sums.append(total)
    result = []
    for s in sums:
        if s / total == 1.0:
            break
        result.append(int((s / total) * 2.0 ** 64))
    assert len(result) < 64 and result == sorted(result)
    return result


class Matrix:
    """S for one (k, seed, p)."""
    left_out = 0                # words, in all

    def __init__(self, k, seed, p):
        self.k, self.seed, self.p = k, seed & MASK64, p
        self.kept = {}
        if p == 1.0:
            return
        rows = min(k, math.floor(8.0 / p))
        self.strata = [(first, min(rows, k - first)) for first in range(0, k, rows)]
        self.tables = {n: thresholds(n, p) for n in {n for _, n in self.strata}}

    def words(self, j, stratum):
        key = (self.seed & MASK32, self.seed >> 32)
        block = 0
        while True:
            yield from philox((block, stratum, j & MASK32, j >> 32), key)
            block += 1

    def subset(self, n, size, words):
        """size of the rows 0 .. n - 1, with signs."""
        chosen = {}
        for r in range(n - size, n):
            bound = 2 * (r + 1)
            while True:
                product = next(words) * bound
                if product & MASK32 >= 2 ** 32 % bound:
                    break
                Matrix.left_out += 1
            v = product >> 32
            row = v // 2 if v // 2 not in chosen else r
            assert row not in chosen
            chosen[row] = v % 2
        return chosen

    def column(self, j):
        """[(row, whether the sign is -)], by row."""
        if self.p == 1.0:
            words = self.words(j, 0)
            some = [next(words) for _ in range((self.k + 31) // 32)]
            return [(i, some[i // 32] >> i % 32 & 1) for i in range(self.k)]
        entries = []
        for stratum, (first, n) in enumerate(self.strata):
            words = self.words(j, stratum)
            u = next(words) << 32 | next(words)
            size = sum(t <= u for t in self.tables[n])
            entries += [(first + row, sign) for row, sign in self.subset(n, size, words).items()]
        return sorted(entries)

    def keep(self, dim):
        for j in range(len(self.kept), dim):
            self.kept[j] = self.column(j)

    def project(self, x):
        """y as float4."""
        self.keep(len(x))
        total = [0.0] * self.k
        for start in range(0, len(x), CHUNK):
            part = [0.0] * self.k
            for j in range(start, min(start + CHUNK, len(x))):
                v = x[j]
                if v != 0.0:
                    for row, sign in self.kept[j]:
                        part[row] += -v if sign else v
            total = [t + s for t, s in zip(total, part)]
        scale = 1.0 / math.sqrt(self.k * self.p)
        return np.array([t * scale for t in total], dtype=np.float64).astype(np.float32)


def recipe_value(recipe, j):
    words = philox((j & MASK32, j >> 32, 0, 0), (0x78, 0))
    m = float((words[0] >> 8) - 2 ** 23)
    if recipe == "even":
        return m * 2.0 ** -23
    if recipe == "mixed":
        return m * 2.0 ** (words[1] % 201 - 123)
    if recipe == "cancel":
        return (-2.0 ** 60 if words[2] % 2 else 2.0 ** 60) if words[1] % 64 == 0 else m * 2.0 ** -14
    assert recipe == "sparse"
    return m * 2.0 ** -23 if words[1] % 16 == 0 else -0.0 if words[1] % 16 == 1 else 0.0


def vector(recipe, dim):
    x = [recipe_value(recipe, j) for j in range(dim)]
    assert (np.array(x, dtype=np.float32).astype(np.float64) == x).all()
    return x


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK64
    return h


def check():
    assert philox((0,) * 4, (0,) * 2) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((MASK32,) * 4, (MASK32,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == \
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)
    assert fnv(b"") == 0xCBF29CE484222325 and fnv(b"foobar") == 0x85944171F73967E8

    # thresholds against the binomial distribution
    mpmath.mp.dps = 60
    worst = 0.0
    for p in DENSITIES[1:] + [0.99, 0.7, 0.25, 0.02, 1e-4, 2e-8, 1e-8, 1e-12]:
        most = math.floor(8.0 / p)
        for n in sorted({1, 2, 3, 5, 8, 13, 60, 61, 511, most // 3, most // 2, most - 1, most}):
            if not 1 <= n <= min(most, 2 ** 29):
                continue
            odds = mpmath.mpf(p) / (1 - mpmath.mpf(p))
            w = total = mpmath.mpf(1 - mpmath.mpf(p)) ** n
            table = thresholds(n, p)
            for m, t in enumerate(table):
                worst = max(worst, float(abs(t / mpmath.mpf(2) ** 64 - total) / total) if t >= 2 ** 53 else 0.0)
                assert abs(t - total * 2 ** 64) <= 1 + total * 2 ** 64 * mpmath.mpf("1e-13")
                w *= (n - m) * odds / (m + 1)
                total += w
            # probabilities after the last threshold are beyond 53 bits
            assert 1 - total < 2.0 ** -52
    print("thresholds: worst relative error %.2g" % worst, file=sys.stderr)
    assert worst < 1e-13


# What to tabulate

DENSITIES = [1.0, 1 - 2.0 ** -53, 0.9, 0.5, 1 / 3, 0.1, 1 / 8, 1 / 64, 1e-3, 1e-6]
SEEDS = [0, 1, -1, 42, 2 ** 63 - 1, -2 ** 63, 0x0123456789ABCDEF, 2 ** 32, -123456789]
COLUMNS = [0, 1, 2, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 53 + 1, 123456789012,
           2 ** 63 - 1]
KS = [1, 2, 7, 8, 9, 31, 32, 33, 64, 100, 129, 256, 1000, 4097, 20000]


def line(kind, k, seed, density, n, recipe, values):
    print(",".join([kind, str(k), str(seed), repr(density) if density else "", str(n), recipe, values]))


def philox_rows():
    blocks = [((0,) * 4, (0,) * 2), ((MASK32,) * 4, (MASK32,) * 2),
              ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0))]
    blocks += [(tuple(1 << bit if i == word else 0 for i in range(4)), (0, 0)) for word in range(4) for bit in (0, 15, 31)]
    blocks += [((0,) * 4, (1, 0)), ((0,) * 4, (0, 1)), ((0,) * 4, (1 << 31, 0)), ((0,) * 4, (0, 1 << 31))]
    block = (0, 1, 2, 3)
    for i in range(30):
        blocks.append((block, (block[0] ^ i, block[3])))
        block = philox(*blocks[-1])
    for counter, key in blocks:
        line("philox", "", "", None, "", "", " ".join("%08x" % w for w in counter + key + philox(counter, key)))


def threshold_rows():
    for p in DENSITIES[1:]:
        most = math.floor(8.0 / p)
        for n in sorted({1, 2, 7, most // 2, most - 1, most}):
            if n >= 1:
                line("thresholds", n, "", p, n, "", " ".join("%016x" % t for t in thresholds(n, p)))


def scale_rows():
    for p in DENSITIES + [1.0 / math.sqrt(70000), 0.032]:
        for k in (1, 2, 3, 100, 257, 20000, 2 ** 29 - 1):
            line("scale", k, "", p, "", "", "%016x" % np.float64(1.0 / math.sqrt(k * p)).view(np.uint64))


def column_row(k, seed, p, j):
    entries = Matrix(k, seed, p).column(j)
    line("column", k, seed, p, j, "", " ".join("%s%d" % ("-" if sign else "+", row) for row, sign in entries))


def column_rows():
    turn = 0
    for p in DENSITIES:
        for k in KS:
            for _ in range(3 if k * p <= 40 else 2 if k * p <= 140 else 1 if k * p <= 340 else 0):
                column_row(k, SEEDS[turn % len(SEEDS)], p, COLUMNS[turn % len(COLUMNS)])
                turn += 1
    for k, p in ((20000, 1 / 8), (4097, 1 / 3), (1000, 1.0), (1000, 0.9)):
        column_row(k, -1, p, 2 ** 63 - 1)
    # strata so long that words are left out
    for k, p in ((10 ** 6, 1e-6), (10 ** 6, 1e-5), (2 ** 29 - 1, 1e-8), (2 ** 29 - 1, 2e-8)):
        for seed in SEEDS[:4]:
            for j in COLUMNS[::2]:
                column_row(k, seed, p, j)


def hash_rows():
    for k, seed, p, dim in ((256, 0, 1 / 64, 4096), (64, 42, 1.0 / math.sqrt(70000), 70000), (64, -1, 1.0, 2000),
                            (129, 7, 1.0, 300), (1000, 1, 0.1, 300), (200, 2, 0.5, 500), (20000, 3, 1 / 64, 50),
                            (33, -2 ** 63, 1 - 2.0 ** -53, 1000), (5, 11, 0.9, 3000), (100, 12, 1 / 3, 1000)):
        matrix = Matrix(k, seed, p)
        data = bytearray()
        n = 0
        for j in range(dim):
            for row, sign in matrix.column(j):
                data += j.to_bytes(8, "little") + (row | sign << 31).to_bytes(4, "little")
                n += 1
        line("columns", k, seed, p, dim, "", "%d %016x" % (n, fnv(data)))


def project_rows():
    dims = (1, 5, 100, 4096, 65536, 65537, 140000)
    recipes = ("even", "mixed", "cancel", "sparse")
    vectors = {recipe: vector(recipe, dims[-1]) for recipe in recipes}
    for k, seed, p, limit in ((1, 0, 1.0, 140000), (16, -1, 1.0, 65537), (40, 42, 1.0 / math.sqrt(140000), 140000),
                              (64, 2 ** 63 - 1, 1 / 64, 140000), (33, 5, 0.9, 4096), (7, 6, 1 / 3, 140000), (300, -7, 1 / 64, 4096),
                              (1000, 8, 0.032, 4096), (257, 9, 1.0, 4096)):
        matrix = Matrix(k, seed, p)
        for dim in dims:
            for recipe in recipes:
                if dim > limit:
                    continue
                y = matrix.project(vectors[recipe][:dim])
                assert np.isfinite(y).all() and ((y != 0.0).any() or dim < 200)
                bits = y.view(np.uint32)
                if k <= 64:
                    line("project", k, seed, p, dim, recipe, " ".join("%08x" % b for b in bits))
                else:
                    line("projected", k, seed, p, dim, recipe, "%016x" % fnv(bits.astype("<u4").tobytes()))


def main():
    check()
    print("kind,k,seed,density,n,recipe,values")
    philox_rows()
    threshold_rows()
    scale_rows()
    column_rows()
    hash_rows()
    project_rows()
    assert Matrix.left_out > 0
    print("words left out: %d" % Matrix.left_out, file=sys.stderr)


if __name__ == "__main__":
    main()
