#!/usr/bin/env bash
# Package:  stockholm 0.5.7 (Python), seen on 2026-11-30.
# Guess:    Money(500, "ISK").sub_units is 500, since the package's own table says that the Icelandic krona has no
#           decimals; Money(1, "KWD").sub_units is 1000, since the Kuwaiti dinar has three.
# Observed: a currency named by its code is always counted in hundredths: 500 ISK are 50000 sub-units, 1 KWD is 100.
#           The same currency given as an object follows the table: 500 and 1000. The two amounts are equal all the same.
# Output:   ISK by code 50000, by object 500, equal True
#           JPY by code 50000, by object 500, equal True
#           KWD by code 100, by object 1000, equal True
# Matters:  Apple sells in yen and won, which have no minor unit. One who hands amounts of a report to a ledger in
#           sub-units books a hundred times the money, or a hundredth, by the spelling of the currency alone.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check stockholm==0.5.7

"$folder/env/bin/python" - <<'PYTHON'
import sys

from stockholm import Money, get_currency

expected = {"ISK": (500, 50000, 500), "JPY": (500, 50000, 500), "KWD": (1, 100, 1000)}
changed = []
for code, (amount, by_code, by_object) in expected.items():
    named, known = Money(amount, code), Money(amount, get_currency(code))
    print(f"{code} by code {named.sub_units}, by object {known.sub_units}, equal {named == known}")
    back = Money.from_sub_units(amount, currency=code)
    known_back = Money.from_sub_units(amount, currency=get_currency(code))
    print(f"    {amount} sub-units by code are {back}, by object {known_back}")
    if (named.sub_units, known.sub_units, named == known) != (by_code, by_object, True):
        changed.append(code)
if changed:
    sys.exit("CHANGED: the sub-units of a currency named by its code differ from what was recorded: " + ", ".join(changed))
PYTHON
echo "As recorded."
