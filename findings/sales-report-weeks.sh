#!/usr/bin/env bash
# Package:  apple-appstore-connect-client 1.0.5 (Python) with pandas 3.1.1, seen on 2026-11-30.
# Guess:    fetch_multiple_days(30) has each of the last 30 days once, from daily files for the last seven days and weekly
#           files before them; fetch_multiple_days(90) has 90 days.
# Observed: a weekly file of Apple is named by the Sunday that ends it; the package takes that Sunday for the first day.
#           Between the last whole week and the daily files 0 to 6 days are missing, more with each day since Monday, and 6
#           to 12 days from before the period are there. For 90 days it asks for no file older than the 31st day or its
#           week. Nothing is raised.
# Output:   30 days, on a Monday: 42 days, 0 missing, 12 from before | on a Sunday: 35 days, 6 missing, 11 from before
#           90 days, on a Monday: 42 days, 48 missing | on a Sunday: 35 days, 55 missing
# Matters:  the same app seems to sell less from Monday to Sunday, and a quarter has hardly more days than a month. The
#           summary, the ranking and the export of the package take a number of days and are all made from these files.
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
import logging
import sys

import appstore_connect.client as client
import requests
from appstore_connect.exceptions import NotFoundError

DAY = datetime.timedelta(days=1)


class Clock(datetime.datetime):
    """The clock of the package, set to one moment."""

    moment = None

    @classmethod
    def now(cls, tz=None):
        return cls.moment


class AppStore(client.AppStoreConnectAPI):
    """Answers as the App Store does, without a connection. A weekly file has the seven days that end with its Sunday. Its
    column Days, which Apple does not have, says which days these are."""

    def _make_request_raw(self, **request):
        asked = {key[7:-1]: value for key, value in request["params"].items()}
        if asked["reportType"] != "SALES":
            raise NotFoundError("There were no sales for the date specified. 404")
        last = datetime.date.fromisoformat(asked["reportDate"])
        days = [last] if asked["frequency"] == "DAILY" else [last - DAY * n for n in range(7)]
        text = "Title\tUnits\tDeveloper Proceeds\tDays\n"
        text += "Pro\t{}\t3.50\t{}\n".format(len(days), " ".join(map(str, days)))
        answer = requests.Response()
        answer.status_code = 200
        answer._content = gzip.compress(text.encode())
        return answer


client.datetime = Clock
logging.disable(logging.WARNING)  # the other reports have no file


def fetched(today, wanted):
    """How many days the files have, how many of the wanted days are missing, how many are from before."""
    Clock.moment = datetime.datetime(today.year, today.month, today.day, 20, tzinfo=datetime.timezone.utc)
    api = AppStore("2X9R4HXF34", "57246542-96fe-1a63-e053-0824d011072a", sys.argv[1], "80012345")
    files = api.fetch_multiple_days(wanted)["sales"]
    days = [datetime.date.fromisoformat(day) for file in files for day in " ".join(file["Days"]).split()]
    asked = {today - DAY * n for n in range(1, wanted + 1)}
    print(f"{wanted} days, on a {today:%A}: {len(days)} days, {len(asked - set(days))} missing, "
          f"{len(set(days) - asked)} from before")
    return len(days), len(asked - set(days)), len(set(days) - asked)


week = [datetime.date(2026, 11, 23) + DAY * n for n in range(7)]
month = [fetched(today, 30) for today in week]
quarter = [fetched(today, 90) for today in (week[0], week[-1])]
if month != [(42, 0, 12), (35, 1, 6), (35, 2, 7), (35, 3, 8), (35, 4, 9), (35, 5, 10), (35, 6, 11)]:
    sys.exit("CHANGED: other days of the last 30 are fetched than recorded")
if quarter != [(42, 48, 0), (35, 55, 0)]:
    sys.exit("CHANGED: other days of the last 90 are fetched than recorded")
PYTHON
echo "As recorded."
