#!/usr/bin/env bash
# Package:  csvkit 2.2.0 with agate 1.14.2 (Python), seen on 2026-11-30.
# Guess:    csvjson turns an Apple report into JSON and keeps the text: the country NO (Norway), the country NA
#           (Namibia), the duration "7 Days".
# Observed: a column of durations becomes a column of dates in the year 1: "7 Days" is 0001-01-08 and "1 Month" is
#           0001-02-01. A column that holds only NO and NA becomes a column of false and null. The subscriber
#           0012345 becomes the number 12345.0. The option --no-inference keeps all but NA; with --blanks NA stays.
# Output:   "Country": false, "Subscription Duration": "0001-02-01", "Subscriber ID": 123.0
#           "Country": null,  "Subscription Duration": "0001-01-08", "Subscriber ID": 12345.0
# Matters:  Apple's subscription reports have these columns. One who loads a report this way loses Namibia. The country
#           is "false" if Norway is the only other one, and the length of a period is a date in the year 1.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check csvkit==2.2.0 agate==1.14.2

{
    printf 'App Name\tCountry\tSubscription Duration\tSubscriber ID\n'
    printf 'Pro\tNA\t7 Days\t0012345\n'
    printf 'Pro\tNO\t1 Month\t0000123\n'
} >"$folder/report.tsv"

"$folder/env/bin/csvjson" --tabs "$folder/report.tsv" >"$folder/read.json"
"$folder/env/bin/csvjson" --tabs --no-inference --blanks "$folder/report.tsv" >"$folder/kept.json"

python3 - "$folder/read.json" "$folder/kept.json" <<'PYTHON'
import json
import sys

columns = ["Country", "Subscription Duration", "Subscriber ID"]
read, kept = ([[row[column] for column in columns] for row in json.load(open(file))] for file in sys.argv[1:])
print("as read by itself:        ", read)
print("without guesses of types: ", kept)
if read != [[None, "0001-01-08", 12345.0], [False, "0001-02-01", 123.0]]:
    sys.exit("CHANGED: csvkit no longer turns durations into dates, Norway into false and Namibia into nothing")
if kept != [["NA", "7 Days", "0012345"], ["NO", "1 Month", "0000123"]]:
    sys.exit("CHANGED: --no-inference --blanks no longer keeps the text of the report")
PYTHON
echo "As recorded."
