#!/usr/bin/env python3
"""Filters of rows, and which rows SQLite finds them true of.

    python3 test/data/filter_reference.py > test/unit/filter_cases.h

Random conditions over columns of small numbers, booleans and texts with NULLs among them: three-valued logic,
precedence and the ways to write a number are SQLite's. Two runs give the same bytes.
"""
import random
import sqlite3

NROWS = 64
NCASES = 400

random.seed(16)
LEVELS = ['a', 'b', "it's", 'd e']
NUMBERS = ['-2', '-1', '0', '1', '2', '3', '.5', '2.', '1e0', '25E-1', '+1', '- 1', '0.1', '1.5e+0']


def rows():
    for _ in range(NROWS):
        yield (random.choice([None, -2.0, -1.0, 0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]),
               random.choice([None, -1.0, 0.0, 1.0, 2.0]),
               random.choice([None, 0, 1]),
               random.choice([None] + LEVELS[:3]))


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def case(word):
    return random.choice([word, word.lower(), word.capitalize()])


def space():
    return random.choice(['', ' ', ' ', '\n\t'])


def number_test():
    name = random.choice(['x1', 'X1', '"x 2"'])
    kind = random.randrange(10)
    if kind == 0:
        return f"{name} {case('IS')} {case('NULL')}"
    if kind == 1:
        return f"{name} {case('IS')} {case('NOT')} {case('NULL')}"
    if kind == 2:
        no = random.choice(['', ' NOT'])
        return f"{name}{no} {case('BETWEEN')} {random.choice(NUMBERS)} {case('AND')} {random.choice(NUMBERS)}"
    if kind == 3:
        no = random.choice(['', ' not'])
        some = [random.choice(NUMBERS) for _ in range(random.randint(1, 4))]
        return f"{name}{no} {case('IN')}{space()}({(space() + ',' + space()).join(some)})"
    op = random.choice(['=', '<>', '!=', '<', '<=', '>', '>='])
    # SQLite, as PostgreSQL, would take != and a sign for something else
    return f"{name}{space()}{op} {random.choice(NUMBERS)}"


def other_test():
    kind = random.randrange(6)
    if kind == 0:
        return 'b'
    if kind == 1:
        return f"b {random.choice(['=', '<>', '<', '>='])} {random.choice(['TRUE', 'false'])}"
    if kind == 2:
        return f"g IS{random.choice(['', ' NOT'])} NULL"
    if kind == 3:
        some = [quoted(random.choice(LEVELS)) for _ in range(random.randint(1, 3))]
        return f"g{random.choice(['', ' NOT'])} IN ({','.join(some)})"
    if kind == 4:
        return random.choice(['TRUE', 'false', 'b IS NULL'])
    return f"g{space()}{random.choice(['=', '<>', '!='])}{space()}{quoted(random.choice(LEVELS))}"


def condition(depth):
    kind = random.randrange(8)
    if depth == 0 or kind == 0:
        return random.choice([number_test, number_test, other_test])()
    if kind == 1:
        return f"{case('NOT')} {condition(depth - 1)}"
    if kind == 2:
        return f"{case('NOT')}{space()}({condition(depth - 1)})"
    if kind == 3:
        return f"({space()}{condition(depth - 1)})"
    return f" {case(random.choice(['AND', 'OR']))} ".join(condition(depth - 1) for _ in range(random.randint(2, 3)))


def c_number(value):
    return 'NAN' if value is None else repr(float(value))


def c_string(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n').replace('\t', '\\t') + '"'


def main():
    table = list(rows())
    db = sqlite3.connect(':memory:')
    db.execute('CREATE TABLE t (id INTEGER, x1 REAL, "x 2" REAL, b INTEGER, g TEXT)')
    db.executemany('INSERT INTO t VALUES (?, ?, ?, ?, ?)', [(k,) + row for k, row in enumerate(table)])
    print('/*')
    print(' * filter_cases.h: filters, and a bit per row that is set where the filter is true. Written by')
    print(' * test/data/filter_reference.py, with SQLite.')
    print(' */')
    print('#ifndef GPUREG_FILTER_CASES_H')
    print('#define GPUREG_FILTER_CASES_H')
    print()
    print('/* x1, "x 2", b, and the number of g\'s level */')
    print('static const double filter_rows[][4] = {')
    for x1, x2, b, g in table:
        level = None if g is None else LEVELS.index(g)
        print('\t{' + ', '.join(c_number(v) for v in (x1, x2, b, level)) + '},')
    print('};')
    print()
    print('static const char *const filter_levels[] = {' + ', '.join(c_string(x) for x in LEVELS[:3]) + '};')
    print()
    print('static const struct')
    print('{')
    print('\tconst char *text;')
    print('\tuint64_t\trows;')
    print('}\t\t\tfilter_cases[] = {')
    seen = set()
    while len(seen) < NCASES:
        text = condition(random.randint(0, 3))
        if text in seen or len(text) > 500:
            continue
        seen.add(text)
        bits = sum(1 << k for (k,) in db.execute(f'SELECT id FROM t WHERE {text}'))
        line = c_string(text)
        if len(line) > 90:
            # an escape isn't cut
            body, pieces = line[1:-1], []
            while body:
                n = min(90, len(body))
                while n < len(body) and body[:n].endswith('\\'):
                    n -= 1
                pieces.append('"' + body[:n] + '"')
                body = body[n:]
            line = '\n\t\t'.join(pieces)
        print(f'\t{{{line}, 0x{bits:016x}}},')
    print('};')
    print()
    print('#endif\t\t\t\t\t\t\t/* GPUREG_FILTER_CASES_H */')


main()
