#!/usr/bin/env bash
# Package:  app-store-notifications-v2-validator 0.0.9 (Python) with PyJWT 2.15.1, seen on 2026-11-30.
# Guess:    parse() verifies a notification of any kind, opens the signed parts that it knows and leaves alone what is not
#           there: a summary of extended renewals or a token of an external purchase comes back as it was sent.
# Observed: each notification without a signed transaction ends in KeyError after its signature was found good, and not in
#           the package's own InvalidTokenError: the kinds with "summary", "externalPurchaseToken" or "appData" in place of
#           "data". The only exception is the kind TEST.
# Output:   TEST: parsed | DID_RENEW: parsed | RENEWAL_EXTENSION: KeyError 'data'
#           EXTERNAL_PURCHASE_TOKEN: KeyError 'data' | RESCIND_CONSENT: KeyError 'data'
# Matters:  the test from App Store Connect passes, so the endpoint seems ready. The first consent taken back is answered
#           with an error; Apple sends it again for some days and then no more, and the server never hears of it.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    app-store-notifications-v2-validator==0.0.9 PyJWT==2.15.1 pyOpenSSL==26.4.0 cryptography==50.0.2

"$folder/env/bin/python" -W ignore - "$folder/root.cer" <<'PYTHON'
import base64
import datetime
import json
import sys

import app_store_notifications_v2_validator as validator
import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

names = ["Leaf", "Intermediate", "Root"]
keys = [ec.generate_private_key(ec.SECP256R1()) for _ in names]
start = datetime.datetime(2026, 1, 1)


def certificate(level):
    issuer = min(level + 1, 2)
    subject, issued_by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[n])]) for n in (level, issuer))
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issued_by).serial_number(level + 1)
    builder = builder.public_key(keys[level].public_key()).not_valid_before(start)
    builder = builder.not_valid_after(start + datetime.timedelta(days=36500))
    builder = builder.add_extension(x509.BasicConstraints(ca=level > 0, path_length=None), critical=True)
    return builder.sign(keys[issuer], hashes.SHA256()).public_bytes(serialization.Encoding.DER)


chain = [certificate(level) for level in range(3)]
with open(sys.argv[1], "wb") as file:
    file.write(chain[2])


def signed(content):
    header = {"x5c": [base64.b64encode(der).decode() for der in chain]}
    return jwt.encode(content, keys[0], algorithm="ES256", headers=header)


def parsed(kind, part):
    body = {"notificationType": kind, "notificationUUID": "6f1f3c52-63f5-4f0e-9d3c-1f2a3b4c5d6e", "version": "2.0",
            "signedDate": 1793491200000, **part}
    request = json.dumps({"signedPayload": signed(body)})
    try:
        return "parsed" if validator.parse(request, sys.argv[1])["notificationType"] == kind else "another kind"
    except KeyError as error:
        return f"KeyError {error}"


app = {"appAppleId": 1234567890, "bundleId": "com.example.app", "environment": "Production"}
transaction = signed({"transactionId": "2000000000000002", "originalTransactionId": "2000000000000001"})
seen = {
    "TEST": parsed("TEST", {"data": app}),
    "DID_RENEW": parsed("DID_RENEW", {"data": {**app, "signedTransactionInfo": transaction}}),
    "RENEWAL_EXTENSION": parsed("RENEWAL_EXTENSION", {"subtype": "SUMMARY", "summary": {
        **app, "productId": "pro.monthly", "requestIdentifier": "0f9a2c1e-5f0b-4a57-8a39-5d1f6f7a8b9c",
        "storefrontCountryCodes": ["USA"], "succeededCount": 5, "failedCount": 0}}),
    "EXTERNAL_PURCHASE_TOKEN": parsed("EXTERNAL_PURCHASE_TOKEN", {"subtype": "UNREPORTED", "externalPurchaseToken": {
        "externalPurchaseId": "3c1d7f2e-9a4b-4c8d-8e6f-7a5b4c3d2e1f", "tokenCreationDate": 1793404800000,
        "appAppleId": 1234567890, "bundleId": "com.example.app"}}),
    "RESCIND_CONSENT": parsed("RESCIND_CONSENT", {"appData": {**app, "signedAppTransactionInfo": transaction}}),
}
for kind, result in seen.items():
    print(f"{kind}: {result}")
if list(seen.values()) != ["parsed", "parsed"] + ["KeyError 'data'"] * 3:
    sys.exit("CHANGED: notifications of these kinds are parsed in another way than recorded")
PYTHON
echo "As recorded."
