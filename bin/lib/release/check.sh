# Functions that the checks of the Debian package and of the image share. Sourced by bin/release-check, which
# sets `place`, a folder for everything. `log` is the file to which the program writes.

began=0
start() { say "$*" && began="$(date +%s%N)"; }
took() { printf '    %s\n' "$(awk -v n=$(($(date +%s%N) - began)) 'BEGIN { printf "%.1f s", n / 1e9 }')"; }
fail() { stop "$1" "${@:2}" "the log: $(tail -n 5 "$log" 2>/dev/null)"; }

# until_answers URL CURL-ARGUMENTS…: waits until the program that was started last answers at the URL.
until_answers() {
    local _
    for _ in $(seq 600); do
        ! curl -sf -o /dev/null --max-time 5 "$@" || return 0
        kill -0 $! 2>/dev/null || fail "the program ended"
        sleep 0.1
    done
    fail "nothing answers at $1"
}

# Sets two free ports and the URLs of a server and a simulator there.
choose_ports() {
    read -r port simulator_port < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in sockets])')
    server_url="http://127.0.0.1:$port"
    simulator_url="http://127.0.0.1:$simulator_port"
}

# simulate_app FILE: changes the app in a configuration to a simulated app. Changes nothing else.
simulate_app() {
    curl -sf "$simulator_url/_sim/root.cer" -o "$(dirname "$1")/root.cer" || fail "the simulator has no root"
    sed -i '/app_apple_id/a\    simulated: true\n    trust: {extra_roots: [root.cer]}' "$1"
}

# anna buys in the simulator, and her app posts the purchase with the key in `key`.
buy() {
    local signed
    curl -sf -o /dev/null "$simulator_url/_sim/devices" -d '{"account":"anna"}' || fail "no device"
    signed="$(curl -sf "$simulator_url/_sim/devices/anna-1/purchases?only=signed_transaction" \
        -d '{"product_id":"pro.monthly"}')" || fail "nothing was bought"
    curl -sf -o /dev/null "$server_url/v1/purchases" -H "Authorization: Bearer $key" \
        -d "{\"customer_id\":\"anna\",\"signed_transactions\":[\"$signed\"]}" || fail "the purchase was refused"
}

# expect_pro WHEN: fails unless anna has the entitlement `pro`, which she bought.
expect_pro() {
    curl -sf "$server_url/v1/customers/anna" -H "Authorization: Bearer $key" | python3 -c '
import json, sys
sys.exit(not json.load(sys.stdin)["entitlements"]["pro"]["active"])' || fail "pro is not open $1"
}
