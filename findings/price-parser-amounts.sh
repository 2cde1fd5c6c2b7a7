#!/usr/bin/env bash
# Package:  price-parser 0.5.1 (Python), seen on 2026-11-30.
# Guess:    it reads the amount out of every price as a customer sees it: "CHF 1'299.00", "1.250 KWD", "BHD 0.500",
#           "Rp 1.299.000", "₹1,09,900".
# Observed: a Swiss price is right with the straight apostrophe and is its first digits with the typographic one:
#           1’299.00 francs are 1 franc. Three digits after the point are always thousands: half a dinar is 500, also
#           where the text names a currency with three decimals. With decimal_separator="." the dinars are right and the
#           franc is still 1. Nothing is raised and the currency is found in each case.
# Output:   CHF 1'299.00: 1299.00 | CHF 1’299.00: 1 | KWD 1.250: 1250 | BHD 0.500: 500 | Rp 1.299.000: 1299000
# Matters:  the device hands over a price as text in the customer's own spelling (displayPrice), and price lists of other
#           shops have it too. Revenue that is read back from such texts is a thousandth or a thousand times of the
#           payment. The signed transaction has price and currency as a number and a code.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check price-parser==0.5.1

"$folder/env/bin/python" - <<'PYTHON'
import sys

from price_parser import Price

recorded = {
    "CHF 1'299.00": ("1299.00", "CHF"), "CHF 1\u2019299.00": ("1", "CHF"), "KWD 1.250": ("1250", "KWD"),
    "BHD 0.500": ("500", "BHD"), "Rp 1.299.000": ("1299000", "Rp"), "\u20b91,09,900": ("109900", "\u20b9"),
}
changed = []
for text, expected in recorded.items():
    price = Price.fromstring(text)
    print(f"{text}: {price.amount} {price.currency}")
    if (str(price.amount), price.currency) != expected:
        changed.append(text)

told = [str(Price.fromstring(text, decimal_separator=".").amount) for text in ("BHD 0.500", "CHF 1\u2019299.00")]
print("with decimal_separator=\".\":", *told)
if changed:
    sys.exit("CHANGED: price-parser reads these prices in another way than recorded: " + ", ".join(changed))
if told != ["0.500", "1"]:
    sys.exit("CHANGED: decimal_separator has another effect than recorded")
PYTHON
echo "As recorded."
