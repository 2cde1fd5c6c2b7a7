#!/usr/bin/env bash
# Package:  storepulse 0.5.2 (Python), seen on 2026-11-30.
# Guess:    the proceeds of a day are the sales less what was paid back, for whole and for partial refunds: 59.80 for a
#           year, less 29.90 for the half that was given back, are 29.90.
# Observed: a whole refund is taken off, a partial one is not: Apple gives it 0 units and its amount in Developer Proceeds,
#           and the package multiplies the two. The row leaves no metric and no note, though its type is known.
# Output:   a sale: 59.80 | and its refund: 0.00 | and the refund of half of it: 59.80 | the refund of half alone: 0.00
# Matters:  what was given back in part stays in the proceeds for good, and they never agree with what Apple pays. Only the
#           negative customer price shows such a row, and the package does not read that column.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check storepulse==0.5.2

"$folder/env/bin/python" - "$folder/storepulse.db" <<'PYTHON'
import datetime
import sys

from storepulse.core import db
from storepulse.core.sources import apple_sales

COLUMNS = ["SKU", "Title", "Product Type Identifier", "Units", "Developer Proceeds", "Country Code",
           "Currency of Proceeds", "Apple Identifier", "Customer Price", "Parent Identifier"]
DOWNLOAD = ["com.example.app", "Birds", "1F", "1", "0", "US", "USD", "1234567890", "0", " "]


def row(units, proceeds, price):
    return ["pro.year", "Pro", "IAY", units, proceeds, "US", "USD", "1234567891", price, "com.example.app"]


def proceeds(rows):
    text = "".join("\t".join(cells) + "\n" for cells in [COLUMNS, DOWNLOAD, *rows])
    report = apple_sales.map_rows(database, datetime.date(2026, 11, 2), apple_sales.parse_summary(text))
    if report.note():
        sys.exit("CHANGED: storepulse says something about these rows: " + report.note())
    return sum(metric.value for metric in report.rows if metric.metric == "proceeds")


database = db.connect(sys.argv[1])
sale, refund, partial = row("1", "59.80", "85.43"), row("-1", "59.80", "-85.43"), row("0", "29.90", "-42.71")
cases = {"a sale": [sale], "and its refund": [sale, refund], "and the refund of half of it": [sale, partial],
         "the refund of half alone": [partial]}
seen = {name: proceeds(rows) for name, rows in cases.items()}
print(" | ".join(f"{name}: {value:.2f}" for name, value in seen.items()))
if list(seen.values()) != [59.8, 0, 59.8, 0]:
    sys.exit("CHANGED: storepulse counts refunds in another way than recorded")
PYTHON
echo "As recorded."
