#!/usr/bin/env bash
# Package:  CurrencyConverter 0.18.23 (Python) with the table of the European Central Bank inside it, seen on 2026-11-30.
# Guess:    the lev has no rate after it gave way to the euro (RateNotFoundError), and fallback_on_missing_rate=True
#           answers its fixed rate, 1.9558.
# Observed: that option still raises: it fills gaps only, by a straight line between the two ends, however long. The Bank
#           gave no rate of the Icelandic krona for more than nine years; the option answers 180.47 for a day of 2015. The
#           lev's rate comes with fallback_on_wrong_date=True. That one also answers for the ruble, whose rates ended in
#           March 2022: 117.201 for every day since, without a word.
# Output:   lev 2026: plain RateNotFoundError, missing RateNotFoundError, wrong date 1.9558
#           ruble 2022-06 and 2026-06: wrong date 117.201; krona 2015: missing 180.467579
# Matters:  Apple's reports keep rows in a currency for longer than the Bank keeps its rate. The option that saves the lev
#           books rubles at one day's rate for years, so totals in one currency are wrong and nothing says which part.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check CurrencyConverter==0.18.23

"$folder/env/bin/python" - <<'PYTHON'
import datetime
import sys

from currency_converter import CurrencyConverter, RateNotFoundError

converters = {
    "plain": CurrencyConverter(),
    "missing": CurrencyConverter(fallback_on_missing_rate=True),
    "wrong date": CurrencyConverter(fallback_on_wrong_date=True),
}


def rate(name, currency, *day):
    try:
        return round(converters[name].convert(1, "EUR", currency, date=datetime.date(*day)), 6)
    except RateNotFoundError:
        return "RateNotFoundError"


lev = {name: rate(name, "BGN", 2026, 6, 1) for name in converters}
ruble = [rate("wrong date", "RUB", year, 6, 1) for year in (2022, 2026)]
last = rate("plain", "RUB", 2022, 3, 1)
krona = rate("plain", "ISK", 2015, 1, 5), rate("missing", "ISK", 2015, 1, 5)
print("lev of 2026:  ", lev)
print("ruble:        ", ruble, "in 2022 and 2026; its last rate was", last)
print("krona of 2015:", krona)
if lev != {"plain": "RateNotFoundError", "missing": "RateNotFoundError", "wrong date": 1.9558}:
    sys.exit("CHANGED: the rates of the lev after its end differ from what was recorded")
if ruble != [117.201, 117.201] or last != 117.201:
    sys.exit("CHANGED: the ruble no longer keeps its last rate")
if krona != ("RateNotFoundError", 180.467579):
    sys.exit("CHANGED: the gap of the krona is filled in another way than recorded")
PYTHON
echo "As recorded."
