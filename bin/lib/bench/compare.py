#!/usr/bin/env python3
"""Measures two builds of Perennial alternately, and prints one table that compares them.

    compare.py [--rounds N] THIS OTHER [--quick] [--only LINE]…

THIS and OTHER are folders with a `perennial-bench` and a `perennial` each. Every line is measured by the
build's own benchmark, so the two may differ in their schema and in the names of their API. Each round
measures a line with both builds, one directly after the other, and the order changes from round to
round. The result is the median of the rounds' quotients: a slow machine affects both sides alike.
"""

import argparse
import hashlib
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 3
# What one build may take for one line, in seconds.
LINE_SECONDS = 3600
# The lines that `perennial-bench table` measures together count as one, by the name of the first.
LINES = [
    "verify-known", "notification-sqlite", "notification-postgres", "customer", "commit-sqlite",
    "commit-postgres", "servers", "population",
]
# A row of the table: its title, and its measured value.
ROW = re.compile(r"^\| (?P<title>[^|]*[^| ]) *\| (?P<value>[0-9.]+) *\|")


def stop(problem, remedy):
    sys.exit(f"bin/bench: {problem}\n  next: {remedy}")


def measure(folder, line, quick):
    """Returns the values of a line, and of those measured with it, by their titles.

    Each build keeps its databases in a folder of its own: their tables may differ.
    """
    place = os.environ.get("PERENNIAL_BENCH_DIR", os.path.join(tempfile.gettempdir(), "perennial-bench"))
    data = os.path.join(place, hashlib.sha256(folder.encode()).hexdigest()[:12])
    os.makedirs(data, exist_ok=True)
    command = [os.path.join(folder, "perennial-bench"), "table", "--only", line]
    finished = subprocess.run(
        command + (["--quick"] if quick else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=LINE_SECONDS, check=False,
        env=os.environ | {"PERENNIAL_BENCH_DIR": data})
    if finished.returncode != 0:
        print(finished.stderr, file=sys.stderr)
        stop(f"{line} could not be measured with {folder} (see above)",
             "bin/bench --only LINE in a clone of that commit")
    rows = (ROW.match(text) for text in finished.stdout.splitlines())
    return {row["title"]: float(row["value"]) for row in rows if row}


def rounds_of(line, folders, rounds, quick):
    """Yields the values of both builds for each round."""
    for number in range(rounds):
        order = folders if number % 2 == 0 else folders[::-1]
        values = {folder: measure(folder, line, quick) for folder in order}
        print(f"{line}: round {number + 1} of {rounds}", file=sys.stderr)
        yield tuple(values[folder] for folder in folders)


def table(pairs):
    """Returns the rows of a line: a title, both medians, and the quotients' median and range."""
    for title in pairs[0][0]:
        both = [(this[title], other[title]) for this, other in pairs if other.get(title)]
        if not both:
            yield [title, f"{statistics.median(this[title] for this, _ in pairs):.2f}", "", "", ""]
            continue
        quotients = sorted(this / other for this, other in both)
        yield [
            title, f"{statistics.median(this for this, _ in both):.2f}",
            f"{statistics.median(other for _, other in both):.2f}",
            f"{statistics.median(quotients):.2f}", f"{quotients[0]:.2f} to {quotients[-1]:.2f}",
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("this")
    parser.add_argument("other")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=LINES, default=[])
    arguments = parser.parse_args()
    folders = [arguments.this, arguments.other]
    if arguments.rounds < 1:
        stop("a comparison has at least one round", "bin/bench --against COMMIT --rounds 3")
    for folder in folders:
        if not os.access(os.path.join(folder, "perennial-bench"), os.X_OK):
            stop(f"there is no perennial-bench in {folder}", "bin/bench --against COMMIT")
    print("| line | this build | the other | quotient | in the rounds |\n|---|---|---|---|---|")
    for line in arguments.only or LINES:
        pairs = list(rounds_of(line, folders, arguments.rounds, arguments.quick))
        for row in table(pairs):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
