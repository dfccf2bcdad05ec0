#!/usr/bin/env python3
"""Writes results of scikit-learn's FeatureHasher, MurmurHash3 and Johnson-Lindenstrauss dimension, for the tests.

    python3 test/data/feature_hash_reference.py

Needs scikit-learn (1.9 made the files) and mpmath; writes these files beside itself. All are UTF-8 and CSV with a header, as COPY
(FORMAT csv, HEADER) reads them; an empty string is quoted.

    feature_hash.csv.gz     token,hash,sign,bucket_1,bucket_2,bucket_7,bucket_1000,bucket_4096,bucket_1048576: MurmurHash3 of the
                            token (x86, 32 bits, seed 0, signed), and where FeatureHasher(n_features=N) puts it
    feature_hash_rows.csv   id,kind,features,v16,v1024: kind text (features is an array literal) or jsonb (an object); vN is
                            the row of FeatureHasher(n_features=N), as index:value,... by index, zeros left out; float4 values
                            in as few digits as read back exactly. No sum depends on the order of its terms.
    murmur3.csv             token_hex,seed,hash: some of the tokens in hexadecimal, and others, for the unit test
    jl.csv                  n,eps,k: johnson_lindenstrauss_min_dim(n, eps=eps)

The tokens are the words of the Python library's own documentation strings, its keywords and names, and strings drawn at random.
Other versions of Python give other words; the files are kept.
"""
import builtins
import csv
import gzip
import io
import json
import keyword
import os
import random
import re
from fractions import Fraction

import mpmath
import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.random_projection import johnson_lindenstrauss_min_dim
from sklearn.utils import murmurhash3_32

SIZES = (1, 2, 7, 1000, 4096, 2 ** 20)
DOCUMENTED = ("argparse", "ast", "asyncio", "calendar", "collections", "csv", "datetime", "decimal", "difflib", "email", "fractions",
              "gettext", "heapq", "html.parser", "http.client", "inspect", "itertools", "json", "logging", "math", "optparse", "os",
              "pickle", "random", "re", "shutil", "socket", "sqlite3", "statistics", "string", "subprocess", "tarfile", "textwrap",
              "threading", "unittest", "urllib.request", "uuid", "zipfile")
# first and last code points: Latin, combining marks, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, Hangul, kana, CJK,
# symbols, emoji, and the edges of the two, three and four byte sequences
ALPHABETS = ((0xC0, 0x17F), (0x300, 0x36F), (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939),
             (0xE01, 0xE30), (0xAC00, 0xD7A3), (0x3041, 0x30FE), (0x4E00, 0x9FA5), (0x2190, 0x22FF), (0x1F300, 0x1F64F),
             (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF))
MASK32 = 2 ** 32 - 1


def hash_of(token, seed=0):
    return int(murmurhash3_32(token.encode() if isinstance(token, str) else token, seed=seed))


# Tokens of a wanted hash: MurmurHash3 of 8 bytes, undone

def unshift(h, r):
    result = h
    for _ in range(32 // r + 1):
        result = h ^ result >> r
    return result


def rotate(x, r):
    return (x << r | x >> (32 - r)) & MASK32


def last_word(before, nbytes, wanted):
    """The last whole word of a string of nbytes, given the hash's state before it."""
    h = unshift(wanted & MASK32, 16) * pow(0xC2B2AE35, -1, 2 ** 32) & MASK32
    h = unshift(unshift(h, 13) * pow(0x85EBCA6B, -1, 2 ** 32) & MASK32, 16) ^ nbytes
    k = before ^ rotate((h - 0xE6546B64) * pow(5, -1, 2 ** 32) & MASK32, 32 - 13)
    k = rotate(k * pow(0x1B873593, -1, 2 ** 32) & MASK32, 32 - 15) * pow(0xCC9E2D51, -1, 2 ** 32) & MASK32
    return k.to_bytes(4, "little")


def token_of_hash(prefix, wanted, good):
    """prefix, four more characters, and four that give the wanted hash."""
    for i in range(10 ** 6):
        start = prefix + "%04x" % i
        state = 0
        for at in range(0, len(start), 4):
            k = int.from_bytes(start[at:at + 4].encode(), "little")
            k = rotate(k * 0xCC9E2D51 & MASK32, 15) * 0x1B873593 & MASK32
            state = rotate(state ^ k, 13) * 5 + 0xE6546B64 & MASK32
        end = last_word(state, len(start) + 4, wanted)
        if re.fullmatch(good, end):
            token = start + end.decode()
            assert hash_of(token) == wanted
            return token
    raise ArithmeticError("no token of hash %d" % wanted)


def extreme_tokens():
    """Hashes at the edges; FeatureHasher treats -2^31, whose absolute value is no int32, apart."""
    result = []
    for wanted in (-2 ** 31, -2 ** 31 + 1, 2 ** 31 - 1, 2 ** 31 - 2, 0, -1, 1):
        for prefix in ("", "city=", "user_id=Zoe=") if wanted == -2 ** 31 else ("", "feat"):
            result.append(token_of_hash(prefix + "_" * (-len(prefix) % 4), wanted, rb"[ -~]{4}"))
    return result


# The tokens

def random_string(rng, length, alphabet=None):
    def one():
        if alphabet is None:
            return chr(rng.randint(1, 127))
        return chr(rng.randint(*alphabet))
    return "".join(one() for _ in range(length))


def library_words():
    text = []
    for name in DOCUMENTED:
        module = __import__(name, fromlist=["x"])
        text.append(module.__doc__ or "")
        text += [str(getattr(module, attribute).__doc__) for attribute in sorted(dir(module))]
    return sorted(set(re.findall(r"[A-Za-z_][A-Za-z_'.-]*|\d+", " ".join(text))))


def is_utf8(token):
    try:
        return len(token.encode()) >= 0 and "\0" not in token
    except UnicodeEncodeError:
        return False


def all_tokens():
    rng = random.Random(20240701)
    words = library_words()
    special = extreme_tokens()
    special += ["", "a", "foo", "age=42", "null", "NULL", "Null", "\\N", "\\.", "{}", "{a,b}", "[]", "()", "=", "==", "a=", "=a",
                " ", "  ", "\t", "\n", "\r", "\r\n", "a\nb", "a\r\nb", "\\", "\\\\", "\\n", "\\x41", '"', '""', '\\"', "'", "''", "`",
                ",", ",,", "a,b", 'say "hi"', "it's", "%s", "$1", "${HOME}", "--", "/*", ";", "a;b", "<b>", "&amp;", "true", "false", "\x7f",
                "\x01", "\x1f\x1e", " lead", "trail ", "0", "-0", "1e30", "NaN", "inf", "Ω", "é", "e\u0301", "ß", "ñ",
                "日本語", "数据库", "Привет", "мир", "γειά σου", "שלום", "مرحبا", "한국어", "👍", "👩‍👩‍👧", "🇩🇪", "naïve=café",
                "\ufeff", "\ufffd", "\u200b", "\u202e",
                "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "x" * 1000, "é" * 777]
    for length in range(41):
        special += [random_string(rng, length) for _ in range(4)]
        special += [("0123456789" * 5)[:length], random_string(rng, length, (0x410, 0x44F)), random_string(rng, length, (97, 122))]
    tokens = special + keyword.kwlist + dir(builtins) + rng.sample(words, min(len(words), 4500))
    tokens += [str(i) for i in range(0, 600)] + [str(rng.randint(-10 ** 12, 10 ** 12)) for _ in range(700)]
    names = ["age", "city", "user_id", "country", "ip", "browser", "price", "étage", "город", "色"]
    for _ in range(3200):
        value = rng.choice([str(rng.randint(0, 99999)), rng.choice(words), "%.4g" % rng.expovariate(0.01), "true",
                            random_string(rng, 3, (65, 90))])
        tokens.append(rng.choice(names) + rng.choice("==:/") + value)
    for alphabet in ALPHABETS:
        tokens += [random_string(rng, rng.randint(1, 9), alphabet) for _ in range(140)]
    for _ in range(1500):
        parts = [random_string(rng, rng.randint(0, 4), rng.choice(ALPHABETS + (None,) * 4)) for _ in range(rng.randint(1, 4))]
        tokens.append("".join(parts))
    tokens = list(dict.fromkeys(t for t in tokens if is_utf8(t)))
    special = [t for t in dict.fromkeys(special) if is_utf8(t)]
    return tokens, special, words


# Writing

def csv_text(header, rows):
    """Strings quoted, numbers not: an empty string isn't NULL."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    out.write(",".join(header) + "\n")
    writer.writerows(rows)
    return out.getvalue().encode()


def write(name, data):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "wb") as file:
        if name.endswith(".gz"):
            data = gzip.compress(data, 9, mtime=0)
        file.write(data)
    print("%s: %d bytes" % (name, len(data)))


def token_rows(tokens):
    places = []
    for size in SIZES:
        matrix = FeatureHasher(n_features=size, input_type="string", dtype=np.float64).transform([t] for t in tokens)
        assert (np.diff(matrix.indptr) == 1).all() and (np.abs(matrix.data) == 1).all()
        places.append((matrix.indices, matrix.data))
    rows = []
    for i, token in enumerate(tokens):
        h = hash_of(token)
        sign = int(places[0][1][i])
        for size, (indices, data) in zip(SIZES, places):
            assert indices[i] == abs(h) % size and data[i] == sign == (1 if h >= 0 else -1)
        rows.append([token, h, sign] + [int(indices[i]) for indices, _ in places])
    hashes = {r[0]: r[1] for r in rows}
    assert hashes["a"] == 1009084850 and hashes["foo"] == -156908512 and hashes["age=42"] == 1138946670
    assert sum(h == -2 ** 31 for h in hashes.values()) == 3
    return rows


def sparse_text(values, places):
    """index:value,... or None if a sum depends on the order of its terms; places is {bucket: [terms]}"""
    parts = []
    for bucket in sorted(places):
        terms = [Fraction(t) for t in places[bucket]]
        unit = max(t.denominator for t in terms)
        if len(terms) > 2 and sum(abs(t) * unit for t in terms) > 2 ** 53:
            return None
        with np.errstate(over="raise"):
            rounded = np.float32(values[bucket])
        assert values[bucket] == float(sum(terms))
        if rounded != 0:
            parts.append("%d:%s" % (bucket, str(rounded).removesuffix(".0")))
    return ",".join(parts)


def hashed(items, size):
    """One row's vector as text, from FeatureHasher; items is what its input_type="pair" takes."""
    vector = FeatureHasher(n_features=size, input_type="pair", dtype=np.float64).transform([items]).toarray()[0]
    places = {}
    for name, value in items:
        h = hash_of("%s=%s" % (name, value) if isinstance(value, str) else name)
        term = 1.0 if isinstance(value, str) else float(value)
        places.setdefault(abs(h) % size, []).append(term if h >= 0 else -term)
    return sparse_text(vector, places)


def array_literal(tokens, rng):
    def element(token):
        if re.fullmatch(r"[A-Za-z0-9_=.-]+", token) and token.lower() != "null" and rng.random() < 0.7:
            return token
        return '"%s"' % token.replace("\\", "\\\\").replace('"', '\\"')
    return "{" + rng.choice([",", ",", ", "]).join(element(t) for t in tokens) + "}"


def text_rows(tokens, special, rng):
    for i in range(200):
        length = [0, 1, 2, 3, 300][i] if i < 5 else int(300 ** rng.random())
        pool = rng.choice([tokens[:60], special, tokens, tokens]) if length < 100 else rng.choice([tokens[100:140], tokens])
        row = [rng.choice(pool) for _ in range(length)]
        row = [t for t in row if len(t) < 100]
        vectors = []
        for size in (16, 1024):
            text = hashed([(t, 1) for t in row], size)
            own = FeatureHasher(n_features=size, input_type="string").transform([row]).toarray()[0]
            assert all(own[int(p.split(":")[0])] == float(p.split(":")[1]) for p in text.split(",") if p)
            assert np.count_nonzero(own) == len([p for p in text.split(",") if p])
            vectors.append(text)
        yield ["text", array_literal(row, rng)] + vectors


def number_text(rng):
    return rng.choice([str(rng.randint(-9, 9)), str(rng.randint(-10 ** 9, 10 ** 9)), "0", "-0", "0.0", "-0.0", "0.1", "-0.1", "1e-3",
                       "0.001", "1e30", "-1E+30", "1e-30", "2.5e-10", "12345678901234567890", "0.30000000000000004", "3.14159", "1.50",
                       repr(rng.gauss(0, 1)), repr(rng.gauss(0, 1000)), "%.2f" % rng.uniform(-100, 100), "9007199254740993", "100e-2"])


def json_row(i, words, special, rng):
    names = ["age", "city", "price", "x", "y", "user id", "étage", "色", "", "a=b", 'quo"te', "back\\slash", "new\nline"]
    parts = []
    for _ in range([0, 1, 2][i] if i < 3 else int(60 ** rng.random())):
        name = rng.choice(names + rng.sample(words, 20))
        kind = rng.random()
        value = (number_text(rng) if kind < 0.55 else rng.choice(["true", "false"]) if kind < 0.65 else
                 json.dumps(rng.choice(rng.choice([words, special])), ensure_ascii=rng.random() < 0.5))
        parts.append("%s:%s%s" % (json.dumps(name, ensure_ascii=rng.random() < 0.5), rng.choice(["", " "]), value))
    return "{" + rng.choice([",", ", "]).join(parts) + "}"


def json_rows(words, special, rng):
    special = [t for t in special if len(t) < 100]
    made = 0
    while made < 200:
        text = json_row(made, words, special, rng)
        # the last value of a repeated name counts, as for jsonb
        items = list(json.loads(text).items())
        vectors = [hashed(items, size) for size in (16, 1024)]
        if None not in vectors:
            made += 1
            yield ["jsonb", text] + vectors


def murmur_rows(special, words, rng):
    rows = [(t.encode().hex(), 0, hash_of(t)) for t in special if len(t.encode()) < 1000]
    for length in range(33):
        data = rng.randbytes(length)
        rows += [(data.hex(), seed, hash_of(data, seed)) for seed in (0, 1, 0x9747B28C, 2 ** 32 - 1)]
    rows += [(t.encode().hex(), 0, hash_of(t)) for t in rng.sample(words, 60)]
    return rows


def jl_rows():
    pairs = [(n, eps) for n in (1, 2, 3, 10, 142, 1000, 10 ** 4, 10 ** 6, 123456789, 10 ** 10, 10 ** 15)
             for eps in (0.01, 0.05, 0.1, 0.3, 0.5, 0.9)][1:]
    pairs += [(100, 0.99), (10 ** 15, 0.99), (1, 0.99), (10 ** 6, 0.123456789), (2 ** 31, 0.2), (10 ** 12, 0.75)]
    rows = []
    for n, eps in pairs:
        k = int(johnson_lindenstrauss_min_dim(n, eps=eps))
        exact = 4 * mpmath.log(n) / (mpmath.mpf(eps) ** 2 / 2 - mpmath.mpf(eps) ** 3 / 3)
        # values so far from an integer that rounding doesn't matter
        assert k == int(exact) and (n == 1 or 1e-9 * k < exact - k < 1 - 1e-9 * k)
        rows.append((n, repr(eps), k))
    return rows


def main():
    tokens, special, words = all_tokens()
    print("%d tokens, %d not ASCII" % (len(tokens), sum(not t.isascii() for t in tokens)))
    assert len(tokens) >= 12000 and sum(not t.isascii() for t in tokens) > 2000
    header = ["token", "hash", "sign"] + ["bucket_%d" % size for size in SIZES]
    write("feature_hash.csv.gz", csv_text(header, token_rows(tokens)))
    rng = random.Random(7)
    rows = list(text_rows(tokens, special, rng)) + list(json_rows(words, special, rng))
    write("feature_hash_rows.csv", csv_text(["id", "kind", "features", "v16", "v1024"], [[i + 1] + r for i, r in enumerate(rows)]))
    write("murmur3.csv", ("token_hex,seed,hash\n" + "".join("%s,%d,%d\n" % r for r in murmur_rows(special, words, rng))).encode())
    write("jl.csv", ("n,eps,k\n" + "".join("%d,%s,%d\n" % r for r in jl_rows())).encode())


if __name__ == "__main__":
    main()
