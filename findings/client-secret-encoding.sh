#!/usr/bin/env bash
# Package:  idpyoidc 5.0.0, pyop 3.5.0 and Authlib 1.9.10 (Python), seen on 2026-12-01.
# Guess:    a provider of OpenID Connect by each of them reads a client's secret from the header `Authorization: Basic`
#           as RFC 6749, 2.3.1 writes it: form-encoded, then joined with the client's id.
# Observed: idpyoidc does not decode the secret. pyop and Authlib decode %XX, but not the plus sign that the form
#           encoding writes for a space. So none of them recognises the secret `birds & bees` in the standard's form;
#           two do with %20 for the space; idpyoidc does only if the secret is sent without any encoding.
# Output:   form-encoded: birds+%26+bees, birds+&+bees, birds+&+bees
#           with %20: birds%20%26%20bees, birds & bees, birds & bees
#           not encoded: birds & bees, birds & bees, birds & bees
# Matters:  a correct secret is refused as invalid_client, and works as soon as it is sent in the body. Generated
#           secrets often contain + / or =. A secret of letters and digits works everywhere.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check idpyoidc==5.0.0 pyop==3.5.0 Authlib==1.9.10

"$folder/env/bin/python" - <<'PYTHON'
import base64
import sys
import urllib.parse

from authlib.oauth2.rfc6749.util import extract_basic_authorization
from idpyoidc.server.client_authn import basic_authn
from pyop.client_authentication import verify_client_authentication
from pyop.exceptions import InvalidClientAuthentication

SECRET = "birds & bees"


def secret_in_pyop(header):
    # pyop compares the secret itself, so it is asked about each possible reading.
    for reading in [SECRET, "birds+&+bees", "birds+%26+bees", "birds%20%26%20bees"]:
        try:
            verify_client_authentication({"store": {"client_secret": reading}}, {}, header)
            return reading
        except InvalidClientAuthentication:
            pass
    return "refused"


def readings(sent):
    header = "Basic " + base64.b64encode(f"store:{sent}".encode()).decode()
    return [
        basic_authn(header)["secret"],
        secret_in_pyop(header),
        extract_basic_authorization({"Authorization": header})[1],
    ]


seen = {
    "form-encoded": readings(urllib.parse.quote_plus(SECRET)),
    "with %20": readings(urllib.parse.quote(SECRET, safe="")),
    "not encoded": readings(SECRET),
}
for name, found in seen.items():
    print(f"{name}: {', '.join(found)}")
if seen != {
    "form-encoded": ["birds+%26+bees", "birds+&+bees", "birds+&+bees"],
    "with %20": ["birds%20%26%20bees", SECRET, SECRET],
    "not encoded": [SECRET, SECRET, SECRET],
}:
    sys.exit("CHANGED: a provider decodes the client's secret in another way than recorded")
PYTHON
echo "As recorded."
