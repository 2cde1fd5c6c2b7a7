#!/usr/bin/env bash
# Package:  python-dateutil 4.0.0 and dateparser 1.5.0 (Python), seen on 2026-11-30.
# Guess:    dateutil reads "2013-08-01 07:00:00 Etc/GMT" as UTC; dateparser reads it and the Pacific form too.
# Observed: neither reads a date as Apple's receipts write it. dateutil raises an error, and with fuzzy=True it drops
#           America/Los_Angeles: the Pacific midnight comes back without a zone, seven hours early if taken as UTC.
#           dateparser raises nothing and answers None.
# Output:   Etc/GMT: dateutil ParserError, fuzzy 2013-08-01 07:00:00+00:00, dateparser None
#           America/Los_Angeles: dateutil ParserError, fuzzy 2013-08-01 00:00:00, dateparser None
# Matters:  verifyReceipt and notifications of version 1 give every date in these forms, once with Etc/GMT and once, as
#           ..._pst, with America/Los_Angeles. The fields ..._ms hold the same instant as a number and are the ones to read.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check python-dateutil==4.0.0 dateparser==1.5.0

"$folder/env/bin/python" - <<'PYTHON'
import sys

import dateparser
from dateutil import parser


def read(text):
    try:
        strict = str(parser.parse(text))
    except parser.ParserError:
        strict = "ParserError"
    return strict, str(parser.parse(text, fuzzy=True)), dateparser.parse(text, languages=["en"])


zones = {"Etc/GMT": "2013-08-01 07:00:00", "America/Los_Angeles": "2013-08-01 00:00:00"}
seen = {zone: read(f"{time} {zone}") for zone, time in zones.items()}
for zone, (strict, fuzzy, parsed) in seen.items():
    print(f"{zone}: dateutil {strict}, fuzzy {fuzzy}, dateparser {parsed}")
if seen["Etc/GMT"] != ("ParserError", "2013-08-01 07:00:00+00:00", None):
    sys.exit("CHANGED: a receipt's date with Etc/GMT is read in another way than recorded")
if seen["America/Los_Angeles"] != ("ParserError", "2013-08-01 00:00:00", None):
    sys.exit("CHANGED: a receipt's date with America/Los_Angeles is read in another way than recorded")
PYTHON
echo "As recorded."
