#!/usr/bin/env bash
# The requests of a backend to the App Store Server API with curl, sent to the simulator.
#
#   perennial simulate --port 8090
#   bash Examples/app_store_server_api.sh http://127.0.0.1:8090

set -euo pipefail
at="${1:-http://127.0.0.1:8090}"

# ask PATH [ARGUMENT…]
ask() {
    local path="$1"
    shift
    curl --silent --show-error --fail-with-body "$at$path" "$@"
}
# payload: prints the content of a signed document, without verifying it.
payload() {
    local part
    part="$(cut -d. -f2 | tr '_-' '/+')"
    while [ $((${#part} % 4)) -ne 0 ]; do part="$part="; done
    printf '%s' "$part" | base64 --decode
}

# 1. A token in Apple's form. Your backend signs its own, with the key of /_sim/api-key.
token="$(ask '/_sim/api-token?only=token')"

# 2. Anna subscribes, and a month passes.
device="$(ask '/_sim/devices?only=device_id' --data '{"account": "anna"}')"
id="$(ask "/_sim/devices/$device/purchases?only=transaction_id" \
    --data '{"product_id": "pro.monthly"}')"
ask /_sim/clock --data '{"advance": "P1M"}' >/dev/null

# 3. Query the status of the subscription, then its latest transaction.
answer="$(ask "/inApps/v1/subscriptions/$id" --header "Authorization: Bearer $token")"
printf '%s\n' "$answer" | sed 's/.*"status":\([0-9]*\).*/status \1/'
printf '%s\n' "$answer" | sed 's/.*"signedTransactionInfo":"\([^"]*\)".*/\1/' | payload \
    | sed 's/.*"transactionReason":"\([A-Z]*\)".*/\1/'
echo

# 4. Query an unknown id.
curl --silent "$at/inApps/v1/transactions/999999999999999" \
    --header "Authorization: Bearer $token" --write-out ' %{http_code}\n'
