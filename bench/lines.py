"""Shared by bench/plot, bench/table and bench/accuracy: reading recorded lines, writing figures and tables."""
import json
import math
import sys


class Wrong(Exception):
    """An error that keeps a table or a picture from being made, reported to the user."""


def needs(program, error):
    sys.exit(f"{program}: python3 has no module {error.name}: pip install -r bench/requirements.txt")


def figure(number):
    """Rounds to three digits, and at least to hundreds, as benchmarks have no more digits."""
    places = max(2 - math.floor(math.log10(abs(number))), -2) if number else 0
    return f"{round(number, places):,.{max(places, 0)}f}"


def read(path):
    """Returns the first line's object, which names machine, date and command, and the other lines'. Skips comments and
    test results, which the GPU tests print in between, and incomplete lines."""
    objects = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            objects += [json.loads(line)] if line.startswith("{") else []
        except ValueError:
            print(f"{path}: not JSON, passed over: {line[:60]}", file=sys.stderr)
    if not objects or not all(isinstance(objects[0].get(field), str) for field in ("machine", "date", "command")):
        raise Wrong(f'{path} lacks a first line with "machine", "date" and "command"')
    return objects[0], objects[1:]


def caption(header):
    return f"{header['machine']}; {header['date']}; {header['command']}"


def markdown(rows, columns):
    """Returns a table for GitHub without padding, which would make all lines as long as the longest cells."""
    from tabulate import DataRow, TableFormat, tabulate
    cells = DataRow("|", "|", "|")
    github = TableFormat(lineabove=None, linebelow=None, linebetweenrows=None, padding=1, with_header_hide=None,
                         linebelowheader=lambda widths, _: "|---" * len(widths) + "|", headerrow=cells, datarow=cells)
    return tabulate(rows, columns, github, stralign=None, disable_numparse=True)


def put_into(path, program, content):
    """Writes content into a Markdown file, between the program's two marks."""
    marks = [f"<!-- {program}: {end} -->" for end in ("begin", "end")]
    before, begin, rest = path.read_text(encoding="utf-8").partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise Wrong(f"{path} lacks the lines {' and '.join(marks)}")
    path.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8", newline="\n")
