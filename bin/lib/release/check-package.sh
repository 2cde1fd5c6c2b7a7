# The check of the Debian package. Sourced by bin/release-check.

data=/var/lib/perennial

# make_debian: makes a Debian with nothing but apt in `place`. Keeps a copy for the next time.
make_debian() {
    local suite cache
    suite="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")"
    cache="$root/.perennial/release-check/$suite.tar"
    if [ ! -s "$cache" ]; then
        say "Making a Debian ($suite) with nothing but apt"
        mkdir -p "$(dirname "$cache")"
        mmdebstrap --quiet --variant=apt --format=tar "$suite" "$cache.part" || stop "mmdebstrap failed" \
            "mmdebstrap --variant=apt $suite debian.tar"
        mv "$cache.part" "$cache"
    fi
    tar --directory "$place" --extract --file "$cache"
    mount -t proc proc "$place/proc"
    cp /etc/resolv.conf "$place/etc/resolv.conf"
}

inside() { DEBIAN_FRONTEND=noninteractive chroot "$place" "$@"; }

# Runs the program as the systemd unit does: as the same user, without rights, and in the same environment.
# Replaces the calling shell, so that a signal reaches the program.
become_server() {
    umask 0077
    exec chroot "$place" setpriv --reuid=perennial --regid=perennial --clear-groups --no-new-privs \
        --bounding-set=-all env -i PATH=/usr/bin:/bin HOME=$data \
        "PERENNIAL_DATABASE=$data/perennial.sqlite" "PERENNIAL_PORT=$port" "$@"
}
as_server() { (become_server "$@"); }

serve() {
    local command
    command="$(sed -n 's/^ExecStart=//p' "$place/usr/lib/systemd/system/perennial.service")"
    # A server with a simulated app follows the simulator's clock.
    # shellcheck disable=SC2086  # a command and its arguments
    become_server $command --clock-from "$simulator_url" >"$log" 2>&1 &
    serving=$!
    until_answers "$server_url/ready"
}
end() {
    kill "$serving"
    wait "$serving" || fail "the server did not end well"
}

check_install() {
    start "Installing the package, with what it depends on"
    inside apt-get update -qq
    inside apt-get install -y -qq --no-install-recommends /before.deb >"$log" 2>&1 || fail "apt-get failed"
    took
    inside stat -c '%U %a' $data | grep -qx 'perennial 700' || fail "$data is not perennial's alone"
    inside stat -c '%G %a' /etc/perennial | grep -qx 'perennial 750' || fail "/etc/perennial can be read by others"
}

check_phone() {
    start "perennial dev, until the phone is in the browser"
    become_server /usr/bin/perennial dev --data $data/dev --port "$port" --simulator-port "$simulator_port" \
        >"$log" 2>&1 &
    until_answers "$server_url/phone"
    took
    kill $!
    wait $! || fail "perennial dev did not end well"
    rm -rf "${place:?}$data/dev"
}

check_example_configuration() {
    start "The example configuration"
    as_server /usr/bin/perennial keys create --app birds --kind app --config /etc/perennial/perennial.yaml \
        >"$log" 2>&1 || fail "no key could be made with the example configuration"
    as_server /usr/bin/perennial check --config /etc/perennial/perennial.yaml >"$log" 2>&1 || true
    sed 's/^/    /' "$log"
    grep -q "^ok    configuration" "$log" || fail "the example configuration cannot be read"
}

check_purchase() {
    mkdir "$place/simulator"
    inside chown perennial /simulator
    become_server /usr/bin/perennial simulate --data /simulator --port "$simulator_port" \
        --notification-url "$server_url/apple/notifications" >"$place/simulator.log" 2>&1 &
    simulating=$!
    until_answers "$simulator_url/_sim/health"
    simulate_app "$place/etc/perennial/perennial.yaml"
    rm -f "${place:?}$data"/perennial.sqlite*
    key="$(as_server /usr/bin/perennial keys create --app birds --kind app --config /etc/perennial/perennial.yaml \
        2>"$log" | grep -o 'pk_[A-Za-z0-9_-]*' | head -n 1)"
    [ -n "$key" ] || fail "no key could be made"
    start "The server starts with the command of the unit"
    serve
    took
    start "anna buys"
    buy
    expect_pro "after the purchase"
    took
    end
}

check_upgrade() {
    start "The package is installed over the one before"
    cp "$place/etc/perennial/perennial.yaml" "$place/kept.yaml"
    inside dpkg -i --force-confold /perennial.deb >"$log" 2>&1 || fail "dpkg failed"
    took
    cmp -s "$place/kept.yaml" "$place/etc/perennial/perennial.yaml" || fail "the configuration was changed"
    serve
    expect_pro "after the upgrade"
    end
}

check_removal() {
    start "The package is removed"
    inside dpkg --remove perennial >"$log" 2>&1 || fail "dpkg failed"
    took
    [ ! -e "$place/usr/bin/perennial" ] || fail "the program is still there"
    [ -s "$place$data/perennial.sqlite" ] || fail "the data are gone"
    cmp -s "$place/kept.yaml" "$place/etc/perennial/perennial.yaml" || fail "the configuration is gone"
    start "The package is installed again, and the data are found"
    inside dpkg -i /perennial.deb >"$log" 2>&1 || fail "dpkg failed"
    took
    serve
    expect_pro "after it was installed again"
    end
    kill "$simulating"
    wait "$simulating" || fail "the simulator did not end well"
}

check_purge() {
    local left
    start "The package is purged"
    inside dpkg --purge perennial >"$log" 2>&1 || fail "dpkg failed"
    took
    [ ! -e "$place$data" ] && [ ! -e "$place/etc/perennial" ] || fail "data or configuration are left"
    ! inside getent passwd perennial >/dev/null || fail "the user is left"
    left="$(find "$place/usr" "$place/etc" "$place/var/lib" -iname '*perennial*' \
        ! -path '*/dpkg/*' ! -path '*/apt/*')"
    [ -z "$left" ] || fail "files are left: $left"
}

# check_package FILE.deb BEFORE.deb
check_package() {
    make_debian
    log="$place/log"
    cp "$1" "$place/perennial.deb"
    cp "$2" "$place/before.deb"
    choose_ports
    check_install
    check_phone
    check_example_configuration
    check_purchase
    check_upgrade
    check_removal
    check_purge
}
