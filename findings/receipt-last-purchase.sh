#!/usr/bin/env bash
# Package:  itunes-iap 2.6.1 (Python), seen on 2026-11-30.
# Guess:    last_in_app of a receipt is the row with the newest purchase date, as its own description says.
# Observed: it sorts by the date of the *original* purchase, as text. All renewals of a subscription share that date, so it
#           is just the row that stands last. With the renewal of October first and the purchase of August after it, the
#           last purchase is the one of August. The receipt of a new app, without rows, raises IndexError.
# Output:   oldest first: 2000000000000002; newest first: 2000000000000001; no rows: IndexError
# Matters:  Apple promises no order of the rows. One who takes the end of access from this row ends a paid subscription by
#           the order of a list.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check itunes-iap==2.6.1

"$folder/env/bin/python" -W ignore - <<'PYTHON'
import sys

from itunesiap.receipt import Response


def row(transaction, month, milliseconds):
    return {
        "quantity": "1", "product_id": "pro.monthly", "transaction_id": transaction,
        "original_transaction_id": "2000000000000001",
        "purchase_date": f"2013-{month}-01 07:00:00 Etc/GMT", "purchase_date_ms": milliseconds,
        "original_purchase_date": "2013-08-01 07:00:00 Etc/GMT", "original_purchase_date_ms": "1375340400000",
    }


def last(rows):
    try:
        return Response({"status": 0, "receipt": {"in_app": rows}}).receipt.last_in_app.transaction_id
    except IndexError:
        return "IndexError"


august = row("2000000000000001", "08", "1375340400000")
october = row("2000000000000002", "10", "1380610800000")
seen = last([august, october]), last([october, august]), last([])
print("oldest first: {}; newest first: {}; no rows: {}".format(*seen))
if seen != ("2000000000000002", "2000000000000001", "IndexError"):
    sys.exit("CHANGED: itunes-iap chooses the last purchase in another way than recorded")
PYTHON
echo "As recorded."
