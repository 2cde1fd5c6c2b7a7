#!/usr/bin/env python3
"""Measures two builds of Perennial alternately, and prints one table that compares them.

    compare.py [--rounds N] [--quick] [--only LINE]… THIS OTHER
    compare.py --parse-only …    only checks the arguments, without the folders

THIS and OTHER are folders with a `perennial-bench` and a `perennial` each. Every line is measured by the
build's own benchmark, so the two may differ in their schema and in the names of their API. Each round
measures a line with both builds, one directly after the other, and the order changes from round to
round. The result is the median of the rounds' quotients, this build's value by the other's: a slow
machine affects both sides alike. The column `aim` says whether more or less is better.
"""

import argparse
import glob
import hashlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 3
# The time that one build may take for one line, in seconds.
LINE_SECONDS = 3600
# The lines that `perennial-bench table` measures together: the name of the first line, then the others.
GROUPS = {
    "verify-known": ["verify-new"], "notification-sqlite": ["disk"], "notification-postgres": [],
    "customer": ["memory", "start"], "commit-sqlite": [], "commit-postgres": [], "servers": [],
    "population": ["population-signed"],
}
LINES = [line for first, others in GROUPS.items() for line in [first, *others]]
# A row of the table: its title, its measured value, and its aim, such as "≤ 4.50".
ROW = re.compile(r"^\| (?P<title>[^|]*[^| ]) *\| (?P<value>[0-9.]+) *\| (?P<aim>[≤≥]) ")


def stop(problem, remedy):
    sys.exit(f"bin/bench: {problem}\n  next: {remedy}")


def measure(folder, line, quick):
    """Returns the values of a line, and of those measured with it, by their titles and aims.

    Each build keeps its databases in a folder of its own: their tables may differ.
    """
    place = os.environ.get("PERENNIAL_BENCH_DIR", os.path.join(tempfile.gettempdir(), "perennial-bench"))
    data = os.path.join(place, hashlib.sha256(folder.encode()).hexdigest()[:12])
    os.makedirs(data, exist_ok=True)
    # Benchmarks of earlier commits delete a database and leave this file, so a server would take the next database for
    # an older copy, and refuse to start.
    for place in glob.glob(os.path.join(data, "*.log-place")):
        os.remove(place)
    command = [os.path.join(folder, "perennial-bench"), "table", "--only", line]
    running = subprocess.Popen(
        command + (["--quick"] if quick else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, env=os.environ | {"PERENNIAL_BENCH_DIR": data})
    try:
        output, errors = running.communicate(timeout=LINE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        stop(f"{line} took more than {LINE_SECONDS} s with {folder}", f"bin/bench --only {line} --quick")
    rows = [row for row in map(ROW.match, output.splitlines()) if row]
    if running.returncode != 0 or not rows:
        print(output + errors, file=sys.stderr)
        stop(f"{line} could not be measured with {folder} (see above)",
             f"bin/bench --only {line} in a clone of that commit")
    return {(row["title"], row["aim"]): float(row["value"]) for row in rows}


def rounds_of(line, folders, rounds, quick):
    """Yields the values of both builds for each round."""
    for number in range(rounds):
        order = folders if number % 2 == 0 else folders[::-1]
        values = {folder: measure(folder, line, quick) for folder in order}
        print(f"{line}: round {number + 1} of {rounds}", file=sys.stderr)
        yield tuple(values[folder] for folder in folders)


def table(pairs):
    """Yields the rows of a line: title, aim, both medians, and the quotients' median and range."""
    shared = [row for row in pairs[0][0] if row in pairs[0][1]]
    for title, _ in sorted(set(pairs[0][0]) ^ set(pairs[0][1])):
        print(f"not compared, because only one build measures it: {title}", file=sys.stderr)
    if not shared:
        stop("the two builds measure nothing in common (see above)", "bin/bench --only LINE")
    for row in shared:
        both = [(this[row], other[row]) for this, other in pairs if other[row] > 0]
        if not both:
            stop(f"{row[0]}: the other build measured 0", "bin/bench without --quick")
        quotients = sorted(this / other for this, other in both)
        yield [
            *row, f"{statistics.median(this for this, _ in both):.2f}",
            f"{statistics.median(other for _, other in both):.2f}",
            f"{statistics.median(quotients):.2f}", f"{quotients[0]:.2f} to {quotients[-1]:.2f}",
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parse-only", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="THIS OTHER")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=LINES, default=[])
    arguments = parser.parse_args()
    folders = arguments.folders
    if arguments.rounds < 1:
        stop("a comparison has at least one round", "bin/bench --against COMMIT --rounds 3")
    if arguments.parse_only:
        return
    if len(folders) != 2:
        stop("two folders are compared", "bin/bench --against COMMIT")
    for folder in folders:
        if not os.access(os.path.join(folder, "perennial-bench"), os.X_OK):
            stop(f"there is no perennial-bench in {folder}", "bin/bench --against COMMIT")
    print("| line | aim | this build | the other | this ÷ other | in the rounds |\n|---|---|---|---|---|---|")
    wanted = set(arguments.only or LINES)
    for line in (first for first, others in GROUPS.items() if wanted & {first, *others}):
        pairs = list(rounds_of(line, folders, arguments.rounds, arguments.quick))
        for row in table(pairs):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
