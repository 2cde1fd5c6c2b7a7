#!/usr/bin/env bash
# Package:  py-moneyed 3.0 with Babel 2.19.0 (Python), seen on 2026-11-30.
# Guess:    str(Money("0.5", "HUF")) shows 0.50, since the package counts 100 sub-units to the forint.
# Observed: the text of an amount and its sub-units follow two tables. The sub-units come from ISO 4217 (two decimals for
#           the forint, the Colombian peso and the rupiah), the text and round() from Unicode's CLDR (none). Half a forint
#           is shown as 0, 1.5 and 2.5 are both shown as 2, and 1259.37 loses its fraction in round().
# Output:   HUF 0 | HUF 2 | HUF 2 | COP 1259 | sub-units 125937 | rounded 1259
# Matters:  Apple's reports give proceeds in these currencies with two decimals. A printed or rounded row no longer adds
#           up to Apple's total, while the same amount in sub-units does. XCG, the Caribbean guilder of 2025, is not known.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check py-moneyed==3.0 Babel==2.19.0

"$folder/env/bin/python" - <<'PYTHON'
import sys

import moneyed
from moneyed import Money


def shown(amount, code):
    return str(Money(amount, code)).replace("\xa0", " ")


proceeds = Money("1259.37", "HUF")
seen = [
    shown("0.5", "HUF"), shown("1.5", "HUF"), shown("2.5", "HUF"), shown("1259.37", "COP"), shown("1259.37", "IDR"),
    proceeds.get_amount_in_sub_unit(), str(proceeds.round().amount),
]
print(*seen, sep=" | ")
try:
    moneyed.get_currency("XCG")
    seen.append("XCG known")
except moneyed.CurrencyDoesNotExist:
    seen.append("XCG unknown")
print(seen[-1])
if seen != ["HUF 0", "HUF 2", "HUF 2", "COP 1259", "IDR 1259", 125937, "1259", "XCG unknown"]:
    sys.exit("CHANGED: py-moneyed shows or rounds these currencies in another way than recorded")
PYTHON
echo "As recorded."
