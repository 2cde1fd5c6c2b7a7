"""The requests of a backend with Apple's own Python library, sent to the simulator.

pip install app-store-server-library==3.1.2
perennial simulate --port 8090
python Examples/app_store_server_api.py http://127.0.0.1:8090
"""

import json
import sys
import urllib.request

from appstoreserverlibrary.api_client import (
    APIException,
    AppStoreServerAPIClient,
    GetTransactionHistoryVersion,
)
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

SIMULATOR = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8090"


def simulator(path, body=None):
    request = urllib.request.Request(SIMULATOR + path)
    if body is not None:
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request) as answer:
        return answer.read()


# 1. The client needs a key and an address. The verifier needs the root. Nothing else changes.
key = json.loads(simulator("/_sim/api-key"))
client = AppStoreServerAPIClient(
    key["private_key"].encode(),
    key["key_id"],
    key["issuer_id"],
    key["bundle_id"],
    Environment.LOCAL_TESTING,
)
client._base_url = SIMULATOR
verifier = SignedDataVerifier(
    [simulator("/_sim/root.cer")], False, Environment.PRODUCTION, key["bundle_id"], 1234567890
)

# 2. Anna subscribes, and a month passes.
device = json.loads(simulator("/_sim/devices", {"account": "anna"}))["device_id"]
bought = json.loads(simulator(f"/_sim/devices/{device}/purchases", {"product_id": "pro.monthly"}))
simulator("/_sim/clock", {"advance": "P1M"})

# 3. Query the history.
history = client.get_transaction_history(
    bought["transaction_id"],
    None,
    TransactionHistoryRequest(),
    GetTransactionHistoryVersion.V2,
)
for signed in history.signedTransactions:
    transaction = verifier.verify_and_decode_signed_transaction(signed)
    print(transaction.productId, transaction.rawTransactionReason, transaction.price)

# 4. Query an unknown id.
try:
    client.get_transaction_info("999999999999999")
except APIException as error:
    print(error.http_status_code, error.raw_api_error, error.error_message)
