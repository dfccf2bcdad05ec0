#!/usr/bin/env python3
"""Reference values for rotation.h, as CSV on standard output.

    python3 test/data/rotation_reference.py > test/data/rotation.csv

Written from the comment in rotation.h, not from its code: H is a matrix here, formed from its definition. Vectors are of
whole numbers, and products are sums of Python's integers, so that no order of additions matters. Needs nothing but Python.
Takes some seconds.

Columns: x (elements separated by blanks), k, seed, bits. In the last rows additions are rounded: the vector has elements from
2^-60 to 2^60, and floats are added in the order of rotation.h.
"""
import random

MASK32 = 2 ** 32 - 1
TAG = 0x726F7461


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


def sign(seed, rotation, turn, j):
    words = philox((j // 128, rotation, turn, TAG), (seed & MASK32, seed >> 32 & MASK32))
    return -1 if words[j % 128 // 32] >> j % 32 & 1 else 1


def by_matrix(x):
    n = len(x)
    return [sum(-x[j] if bin(i & j).count("1") % 2 else x[j] for j in range(n)) for i in range(n)]


def by_stages(x):
    x = list(x)
    h = 1
    while h < len(x):
        for j in range(len(x)):
            if not j & h:
                x[j], x[j + h] = x[j] + x[j + h], x[j] - x[j + h]
        h *= 2
    return x


def bits(x, k, seed, multiply):
    n = 1
    while n < len(x):
        n *= 2
    result = ""
    rotation = 0
    while len(result) < k:
        y = list(x) + [0 * x[0]] * (n - len(x))
        for turn in range(3):
            y = multiply([sign(seed, rotation, turn, j) * y[j] for j in range(n)])
        result += "".join("1" if value > 0 else "0" for value in y)
        rotation += 1
    return result[:k]


def main():
    draw = random.Random(19)
    print("x,k,seed,bits")
    for dim, k, seed in [(1, 1, 0), (1, 70, 1), (2, 9, -1), (3, 16, 7), (4, 4, 2 ** 63 - 1), (5, 3, -(2 ** 63)), (8, 64, 5),
                         (33, 64, 6), (64, 100, 8), (100, 128, 9), (129, 300, 10), (257, 40, 2 ** 40 + 11)]:
        x = [draw.randint(-9, 9) for _ in range(dim)]
        print(" ".join(map(str, x)), k, seed, bits(x, k, seed, by_matrix), sep=",")
    print("0 0 0,7,0," + bits([0, 0, 0], 7, 0, by_matrix))
    for dim, k, seed in [(16, 200, 3), (150, 256, 4)]:
        x = [draw.choice([-1.0, 1.0]) * 2.0 ** draw.randint(-60, 60) for _ in range(dim)]
        print(" ".join(repr(v) for v in x), k, seed, bits(x, k, seed, by_stages), sep=",")


main()
