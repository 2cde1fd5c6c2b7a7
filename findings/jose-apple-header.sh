#!/usr/bin/env bash
# Package:  joserfc 1.8.0 with cryptography 50.0.2 (Python), seen on 2026-11-30.
# Guess:    an ES256 message that carries its three certificates in x5c, as the App Store signs them, is verified like any
#           other: joserfc knows x5c and reads what it wrote itself.
# Observed: it writes such a message and then refuses to read it. The header may have 512 bytes, one certificate in x5c is
#           already more, three are about 1500 here and 4400 at Apple. No signature is looked at. jws and jwt do the same;
#           a JWSRegistry with a larger max_header_length reads the message.
# Output:   1 certificate: ExceededSizeError | 3 certificates: ExceededSizeError | with a larger limit: b'{"price":9990}'
# Matters:  every transaction, renewal and notification of the App Store has this form. A backend that treats the error as
#           "not signed by Apple" refuses every purchase, while all its own tests with short headers pass.
# Runs outside CI: it installs packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check joserfc==1.8.0 cryptography==50.0.2

"$folder/env/bin/python" - <<'PYTHON'
import base64
import datetime
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from joserfc import jws, jwt
from joserfc.errors import ExceededSizeError
from joserfc.jwk import ECKey

PAYLOAD = b'{"price":9990}'
names = ["Leaf", "Intermediate", "Root"]
keys = [ec.generate_private_key(ec.SECP256R1()) for _ in names]
start = datetime.datetime(2026, 1, 1)


def certificate(level):
    issuer = min(level + 1, 2)
    subject, issued_by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[n])]) for n in (level, issuer))
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issued_by).serial_number(level + 1)
    builder = builder.public_key(keys[level].public_key()).not_valid_before(start)
    made = builder.not_valid_after(start + datetime.timedelta(days=3650)).sign(keys[issuer], hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()


chain = [certificate(level) for level in range(3)]
key = ECKey.import_key(keys[0].private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def read(reader):
    try:
        return reader()
    except ExceededSizeError:
        return "ExceededSizeError"


seen = []
for count in (1, 3):
    message = jws.serialize_compact({"alg": "ES256", "x5c": chain[:count]}, PAYLOAD, key)
    print(f"{count} certificate(s): written with a header of {len(message.split('.')[0])} bytes")
    seen.append(read(lambda: jws.deserialize_compact(message, key).payload))
    seen.append(read(lambda: jwt.decode(message, key).claims))
    print("    jws: {}, jwt: {}".format(*seen[-2:]))

registry = jws.JWSRegistry()
registry.max_header_length = 16384
larger = read(lambda: jws.deserialize_compact(message, key, registry=registry).payload)
print("with a larger limit:", larger)
if seen != ["ExceededSizeError"] * 4:
    sys.exit("CHANGED: joserfc reads messages with certificates in their header")
if larger != PAYLOAD:
    sys.exit("CHANGED: a registry with a larger limit no longer makes joserfc read the message")
PYTHON
echo "As recorded."
