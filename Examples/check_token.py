"""Verifies an entitlement token as your backend would, with only Python's `cryptography`.

    bin/dev
    python Examples/check_token.py http://127.0.0.1:8080 pk_dev_birds anna

Requests a customer and the published keys. A backend keeps the keys, and requests them again only if
a token names a key that it does not have.
"""

import base64
import calendar
import json
import sys
import time
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature


def get(url, key=None):
    request = urllib.request.Request(url)
    if key:
        request.add_header("Authorization", "Bearer " + key)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text):
    return int.from_bytes(decoded(text), "big")


def claims(token, keys, app, environment, customer, now):
    """Returns the claims of a token. Throws if it is not valid for this app, environment and time.

    Use the environment "production" if the content is valuable, because testers get tokens of the
    sandbox for free. Their `iss` and `aud` end in "/sandbox". Pass the customer that your own log-in
    has proven. With None, the token of any customer is accepted; `sub` names the customer.
    """
    head, body, signature = token.split(".")
    header = json.loads(decoded(head))
    # The verifier chooses the algorithm, not the token.
    if header["alg"] != "ES256":
        raise ValueError("another algorithm")
    key = next(key for key in keys["keys"] if key["kid"] == header["kid"])
    point = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1())
    raw = decoded(signature)
    pair = encode_dss_signature(
        int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point.public_key().verify(pair, (head + "." + body).encode(), ec.ECDSA(hashes.SHA256()))
    said = json.loads(decoded(body))
    if said["aud"] != app + ("" if environment == "production" else "/" + environment):
        raise ValueError("for another app")
    if said["environment"] != environment:
        raise ValueError("of another environment")
    if customer is not None and said["sub"] != customer:
        raise ValueError("another customer's")
    if now >= said["exp"]:
        raise ValueError("expired")
    return said


def open_now(said, now):
    """Returns the open entitlements. An entitlement may end before the token expires."""
    return sorted(
        name for name, right in said["entitlements"].items()
        if right["until"] is None or now < right["until"])


def main():
    server, key, customer = sys.argv[1:4]
    keys = get(server + "/.well-known/jwks.json")
    answer = get(server + "/v1/customers/" + customer, key)
    token = answer["token"]
    # `perennial dev` has a virtual clock; the answer contains its time.
    as_of = time.strptime(answer["as_of"][:19], "%Y-%m-%dT%H:%M:%S")
    now = calendar.timegm(as_of)
    said = claims(token, keys, "birds", "production", customer, now)
    print(said["sub"], "may use", ", ".join(open_now(said, now)) or "nothing")

    damaged = token[:-10] + ("A" if token[-10] != "A" else "B") + token[-9:]
    sandbox = get(server + "/v1/customers/" + customer + "?environment=sandbox", key)["token"]
    for what, given, whose, then in [
            ("damaged", damaged, customer, now), ("old", token, customer, said["exp"]),
            ("sandbox", sandbox, customer, now), ("another's", token, customer + "-2", now)]:
        try:
            claims(given, keys, "birds", "production", whose, then)
            print(what, "is taken")
        except (InvalidSignature, ValueError):
            print(what, "is refused")


if __name__ == "__main__":
    main()
