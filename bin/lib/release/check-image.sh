# The check of the container image. Sourced by bin/release-check. umoci unpacks the image and converts its
# configuration to a configuration for runc. runc runs the container with the options that docs/install.md and
# deploy/compose give: a read-only root, no capability. Only the network differs: it is the machine's own.

# unpack_image FILE NAME
unpack_image() {
    local layout="$place/$2-layout" tag
    mkdir "$layout"
    tar --directory "$layout" --extract --file "$1"
    tag="$(image_tag "$layout/index.json")"
    umoci unpack --image "$layout:$tag" "$place/$2" >"$log" 2>&1 || fail "umoci does not read the image"
}
image_tag() {
    python3 -c 'import json, sys
index = json.load(open(sys.argv[1]))
print(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"])' "$1"
}

# become_container NAME IMAGE ARGUMENTS…: runs the image with these arguments, as `docker run IMAGE ARGUMENTS…`
# does. Replaces the calling shell.
become_container() {
    local name="$1" image="$2"
    shift 2
    mkdir -p "$place/containers/$name"
    python3 "$root/bin/lib/release/container.py" --unpacked "$place/$image" --data "$place/data" \
        --configuration "$place/configuration" --port "$port" -- "$@" >"$place/containers/$name/config.json"
    exec runc --root "$place/runc" run --bundle "$place/containers/$name" "$name" </dev/null
}
# in_container NAME COMMAND…: runs a command in a running container, as `docker exec` does.
in_container() { runc --root "$place/runc" exec "$@"; }
once() { (become_container once image "$@"); }
process_of() { runc --root "$place/runc" state "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'; }

serve() {
    # A server with a simulated app follows the simulator's clock.
    become_container server "$1" serve --clock-from "$simulator_url" >"$log" 2>&1 &
    serving=$!
    until_answers "$server_url/ready"
}
# end NAME PROCESS: ends a container with the image's stop signal, and waits for its process.
end() {
    runc --root "$place/runc" kill "$1" "$stop_signal" || fail "$1 has ended already"
    wait "$2" || fail "$1 did not end well after $stop_signal"
}

check_formats() {
    start "Docker's format and OCI's name one image"
    local tag
    tag="$(image_tag "$place/image-layout/index.json")"
    skopeo inspect --raw --config "oci-archive:$1:$tag" >"$place/oci.json" || fail "this is no OCI archive"
    skopeo inspect --raw --config "docker-archive:$1:perennial:$tag" >"$place/docker.json" \
        || fail "this is no archive for docker load"
    cmp -s "$place/oci.json" "$place/docker.json" || fail "the two differ"
    took
}

check_contents() {
    start "The image has one program, and nothing that gives rights"
    local found
    found="$(cd "$place/image/rootfs" && find usr/bin usr/sbin ! -type d)"
    [ "$found" = usr/bin/perennial ] || fail "there are other programs: $found"
    found="$(find "$place/image/rootfs" -perm /6000)"
    [ -z "$found" ] || fail "files run as another user: $found"
    found="$(find "$place/image/rootfs" -type f -perm /022)"
    [ -z "$found" ] || fail "others can write to files: $found"
    took
    printf '    %s MB, unpacked %s MB\n' "$(du -m "$1" | cut -f 1)" "$(du -sm "$place/image/rootfs" | cut -f 1)"
}

check_try_out() {
    start "dev, until the phone answers at an address that a published port reaches"
    become_container dev image dev --port "$port" --simulator-port "$simulator_port" >"$log" 2>&1 &
    local process=$!
    until_answers "http://127.0.0.2:$port/phone" -H "Host: localhost:$port"
    took
    end dev "$process"
}

check_without_configuration() {
    start "Without a configuration, the server says so and ends"
    ! once >"$log" 2>&1 || fail "the server has started"
    grep -q '/etc/perennial/perennial.yaml' "$log" || fail "the message does not name the file"
    took
}

check_purchase() {
    cp "$root/deploy/debian/perennial.yaml" "$place/configuration/"
    become_container simulator image simulate --data /var/lib/perennial/simulator --port "$simulator_port" \
        --notification-url "$server_url/apple/notifications" >"$place/simulator.log" 2>&1 &
    simulating=$!
    until_answers "$simulator_url/_sim/health"
    simulate_app "$place/configuration/perennial.yaml"
    chmod 644 "$place/configuration"/*
    key="$(once keys create --app birds --kind app 2>"$log" | grep -o 'pk_[A-Za-z0-9_-]*' | head -n 1)"
    [ -n "$key" ] || fail "no key could be made"
    start "serve, the command of the image, with the image before"
    serve before
    took
    start "anna buys"
    buy
    expect_pro "after the purchase"
    took
}

check_rights() {
    start "The server has no rights, and cannot write to the image"
    local process
    process="$(process_of server)"
    grep -qx "Uid:$(printf '\t65532%.0s' 1 2 3 4)" "/proc/$process/status" || fail "it has another user"
    grep -qx "CapEff:$(printf '\t%016d' 0)" "/proc/$process/status" || fail "it has capabilities"
    awk '$5 == "/" && $6 ~ /^ro/ { found = 1 } END { exit !found }' "/proc/$process/mountinfo" || fail "its root is not read-only"
    took
}

check_health() {
    start "The health check of the image, with and without a server"
    local check
    check="$(python3 -c 'import json, sys
test = json.load(open(sys.argv[1]))["config"]["Healthcheck"]["Test"]
assert test[0] == "CMD"
print(*test[1:])' "$place/oci.json")"
    # shellcheck disable=SC2086  # a command and its arguments
    in_container server $check >"$place/health" 2>&1 || fail "the server is not healthy: $(cat "$place/health")"
    end server "$serving"
    # shellcheck disable=SC2086  # the same, without the name of the program
    ! once ${check#* } >"$place/health" 2>&1 || fail "an absent server is healthy"
    grep -q "No server answers" "$place/health" || fail "the check failed otherwise: $(cat "$place/health")"
    took
}

check_data() {
    start "The image takes the place of the one before, and has its data"
    serve image
    expect_pro "after the upgrade"
    took
    start "$stop_signal, and another start"
    end server "$serving"
    serve image
    expect_pro "after the restart"
    took
    end server "$serving"
    end simulator "$simulating"
    [ -z "$(find "$place/data" ! -user 65532)" ] || fail "data belong to others"
}

# check_image FILE.tar BEFORE.tar
check_image() {
    log="$place/log"
    mkdir "$place/data" "$place/configuration"
    chown 65532:65532 "$place/data"
    chmod 700 "$place/data"
    unpack_image "$1" image
    unpack_image "$2" before
    choose_ports
    check_formats "$1"
    stop_signal="$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["config"]["StopSignal"])' "$place/oci.json")"
    check_contents "$1"
    check_try_out
    check_without_configuration
    check_purchase
    check_rights
    check_health
    check_data
}
