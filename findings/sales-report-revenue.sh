#!/usr/bin/env bash
# Package:  apple-appstore-connect-client 1.0.5 (Python) with pandas 3.1.1, seen on 2026-11-30.
# Guess:    the revenue of get_sales_summary is units times proceeds, less refunds, and yen stay apart from dollars: ten
#           sales at 3.50 dollars, one of them paid back, and one sale at 425 yen are 31.50 dollars and 425 yen.
# Observed: it adds up the column Developer Proceeds, which is the amount of one unit and is positive in a refund too. Ten
#           sales in one row count once, a refund counts as one more sale, and yen are added to dollars. The units are right.
# Output:   ten sales: 3.50, units 10 | and a refund: 7.00, units 9 | and 425 yen: 432.00, units 10
# Matters:  the package prints this number with a dollar sign, for apps, countries and days. The more an app sells of one
#           product in one country, the more is missing. Refunds raise the number, and one sale in yen outweighs the rest.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    apple-appstore-connect-client==1.0.5 pandas==3.1.1 requests==2.34.2 PyJWT==2.15.1 ratelimit==2.2.1 cryptography==50.0.2

touch "$folder/key.p8"
"$folder/env/bin/python" - "$folder/key.p8" <<'PYTHON'
import datetime
import gzip
import sys

import requests
from appstore_connect import AppStoreConnectAPI
from appstore_connect.exceptions import NotFoundError
from appstore_connect.reports import ReportProcessor

COLUMNS = ["SKU", "Title", "Product Type Identifier", "Units", "Developer Proceeds", "Begin Date", "End Date",
           "Customer Currency", "Country Code", "Currency of Proceeds", "Apple Identifier", "Customer Price",
           "Parent Identifier"]


def row(units, proceeds, country, currency, price):
    return ["pro.month", "Pro", "IAY", units, proceeds, "11/02/2026", "11/02/2026", currency, country, currency,
            "1234567890", price, "com.example.app"]


class AppStore(AppStoreConnectAPI):
    """Answers as the App Store does, without a connection: one sales report, no other."""

    rows = []

    def _make_request_raw(self, **request):
        if request["params"]["filter[reportType]"] != "SALES":
            raise NotFoundError("There were no sales for the date specified. 404")
        text = "".join("\t".join(cells) + "\n" for cells in [COLUMNS, *self.rows])
        answer = requests.Response()
        answer.status_code = 200
        answer._content = gzip.compress(text.encode())
        return answer


sales = row("10", "3.50", "US", "USD", "4.99")
refund = row("-1", "3.50", "US", "USD", "-4.99")
yen = row("1", "425", "JP", "JPY", "600")
day = datetime.date(2026, 11, 2)
seen = {}
for name, rows in {"ten sales": [sales], "and a refund": [sales, refund], "and 425 yen": [sales, refund, yen]}.items():
    api = AppStore("2X9R4HXF34", "57246542-96fe-1a63-e053-0824d011072a", sys.argv[1], "80012345")
    api.rows = rows
    summary = ReportProcessor(api).get_sales_summary(start_date=day, end_date=day)
    seen[name] = (summary["summary"]["total_revenue"], summary["summary"]["total_units"])
    by_country = {country: part["revenue"] for country, part in summary["by_country"].items()}
    print(f"{name}: revenue {seen[name][0]:.2f}, units {seen[name][1]}, by country {by_country}")
if list(seen.values()) != [(3.5, 10), (7.0, 9), (432.0, 10)]:
    sys.exit("CHANGED: the package adds up proceeds in another way than recorded")
PYTHON
echo "As recorded."
