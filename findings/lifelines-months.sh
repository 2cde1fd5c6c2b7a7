#!/usr/bin/env bash
# Package:  lifelines 0.30.3 with numpy 2.4.6 and pandas 2.3.3 (Python), seen on 2026-11-30.
# Guess:    datetimes_to_durations with freq="M" counts calendar months: 1 from 1 February to 1 March, 12 for a year.
# Observed: it divides the days by the mean month of 30.44 days and drops the rest. A month is 1 in January and 0 in
#           February, April, June, September and November; a common year is 11 months, and 0 years with freq="Y". A leap
#           year is 12 and 1. Nothing is raised; the text of the argument points to the units of pandas.
# Output:   February: 0 | April: 0 | January: 1 | a quarter from January: 2 | a year: 11 months, 0 years
# Matters:  a curve of retention is drawn from these durations. Who paid for one month of 30 days counts as one who left at
#           once, and annual subscribers seem to leave a month before their year ends.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check lifelines==0.30.3 numpy==2.4.6 pandas==2.3.3

"$folder/env/bin/python" - <<'PYTHON'
import sys

from lifelines.utils import datetimes_to_durations

periods = {
    "January": ("2026-01-01", "2026-02-01"), "February": ("2026-02-01", "2026-03-01"),
    "April": ("2026-04-01", "2026-05-01"), "a quarter from January": ("2026-01-01", "2026-04-01"),
    "a year": ("2025-01-01", "2026-01-01"), "a leap year": ("2024-01-01", "2025-01-01"),
}
starts, ends = zip(*periods.values())
months, years = (datetimes_to_durations(list(starts), list(ends), freq=unit)[0].tolist() for unit in ("M", "Y"))
for name, month, year in zip(periods, months, years):
    print(f"{name}: {month:g} months, {year:g} years")
if months != [1, 0, 0, 2, 11, 12]:
    sys.exit("CHANGED: lifelines counts months in another way than recorded")
if years != [0, 0, 0, 0, 0, 1]:
    sys.exit("CHANGED: lifelines counts years in another way than recorded")
PYTHON
echo "As recorded."
