#!/usr/bin/env bash
# Package:  pendulum 3.3.0 and isoduration 20.11.0 (Python), seen on 2026-11-30.
# Guess:    a dictionary with the key P30D has no entry for P1M in pendulum; a set of P12M and P1Y has one member in
#           isoduration.
# Observed: pendulum compares a duration as days, a month as 30 and a year as 365: P1M equals P30D and finds its entry,
#           while P12M is less than P1Y. isoduration compares the parts as written: P12M is not P1Y and P7D is not P1W.
# Output:   pendulum: P1M finds the entry of P30D: trial; P12M < P1Y: True
#           isoduration: P12M and P1Y are 2 periods; P7D == P1W: False
# Matters:  Apple gives the length of an offer as such a text; one's own tables may spell it in another way. A plan found by its
#           period is mixed with one of 30 days in one library, and one plan is taken for two in the other.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pendulum==3.3.0 isoduration==20.11.0

"$folder/env/bin/python" - <<'PYTHON'
import sys

import isoduration
import pendulum

found = {pendulum.parse("P30D"): "trial"}.get(pendulum.parse("P1M"))
less = pendulum.parse("P12M") < pendulum.parse("P1Y")
start = pendulum.datetime(2027, 1, 1)
same_end = start + pendulum.parse("P12M") == start + pendulum.parse("P1Y")
print(f"pendulum: P1M finds the entry of P30D: {found}; P12M < P1Y: {less}; both end on one day: {same_end}")

parse = isoduration.parse_duration
years = len({parse("P12M"), parse("P1Y")})
weeks = parse("P7D") == parse("P1W")
print(f"isoduration: P12M and P1Y are {years} periods; P7D == P1W: {weeks}")

if (found, less, same_end) != ("trial", True, True):
    sys.exit("CHANGED: pendulum compares months and years in another way than recorded")
if (years, weeks) != (2, False):
    sys.exit("CHANGED: isoduration compares periods in another way than recorded")
PYTHON
echo "As recorded."
