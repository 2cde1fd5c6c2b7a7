#!/usr/bin/env bash
# Package:  standardwebhooks 1.1.0 (Python), seen on 2026-11-30.
# Guess:    sign() signs a moment: written in UTC, in another zone or as the local time of the machine it has one signature,
#           and verify() takes it with the header webhook-timestamp made from the same datetime.
# Observed: sign() drops the zone and takes the numbers on the clock for UTC. Nine hours east the signature is for a moment
#           nine hours later, and a time without a zone is off by the machine's zone. The header, made by timestamp(), is
#           right, so the message is refused as not genuine. Only the clock of UTC works.
# Output:   UTC: accepted | +09:00: signed for +9 h, No matching signature found | local -07:00: signed for -7 h, the same
# Matters:  tests of a receiver sign their own messages, and servers that forward events sign them anew. They pass in UTC, as
#           in most containers, and fail on a laptop or with a zone in the configuration; the secret seems to be wrong.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check standardwebhooks==1.1.0

TZ=LOCAL7 "$folder/env/bin/python" - <<'PYTHON'
import base64
import datetime
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook("whsec_" + base64.b64encode(b"a secret for this test").decode())
identifier, body = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", '{"type":"subscription.renewed"}'
moment = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
written = {
    "UTC": moment,
    "+09:00": moment.astimezone(datetime.timezone(datetime.timedelta(hours=9))),
    "local -07:00, with its zone": moment.astimezone(),
    "local -07:00, without a zone": moment.astimezone().replace(tzinfo=None),
}


def accepted(signature, seconds):
    headers = {"webhook-id": identifier, "webhook-timestamp": str(seconds), "webhook-signature": signature}
    try:
        webhook.verify(body, headers)
        return "accepted"
    except WebhookVerificationError as error:
        return str(error)


seen = []
for name, time in written.items():
    if int(time.timestamp()) != int(moment.timestamp()):
        sys.exit("This machine does not know the local zone of the test.")
    signature = webhook.sign(identifier, time, body)
    shift = [hours for hours in range(-12, 13)
             if webhook.sign(identifier, moment + datetime.timedelta(hours=hours), body) == signature]
    seen.append((*shift, accepted(signature, int(time.timestamp()))))
    print(f"{name}: signed for {seen[-1][0]:+} h, {seen[-1][1]}")
refused = "No matching signature found"
if seen != [(0, "accepted"), (9, refused), (-7, refused), (-7, refused)]:
    sys.exit("CHANGED: standardwebhooks signs times with a zone in another way than recorded")
PYTHON
echo "As recorded."
