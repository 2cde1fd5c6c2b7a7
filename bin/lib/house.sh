# Functions that the scripts in bin/ share. Source this file; do not run it. Sets `root`, the repository's
# folder. Every function is idempotent: it changes nothing that is already in place.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
server="$root/Server"

# The tools version of Server/Package.swift.
swift_major_min=6
swift_minor_min=2

say() { printf '==> %s\n' "$*"; }

# stop WHAT NEXT…: prints what failed and the next command to try, then ends the script.
stop() {
    printf '\nStopped: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf 'Next:    %s\n' "$@" >&2
    exit 1
}

# The memory that must be free before temporary files of tests are stored in it.
memory_kilobytes_min=4194304

# Sets `temporary`, an empty folder, and TMPDIR. The caller removes the folder at the end. The folder is in
# memory if enough is free, because a database of 300 tables is made ten times faster there.
make_temporary_folder() {
    local memory=/dev/shm free
    temporary=
    if [ -w "$memory" ]; then
        # The smaller of the folder's free space and the free memory.
        free="$({
            df -Pk "$memory" | awk 'NR == 2 { print $4 }'
            awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
        } | sort -n | head -n 1)"
        [ "${free:-0}" -lt "$memory_kilobytes_min" ] \
            || temporary="$(mktemp -d "$memory/perennial-XXXXXX")"
    fi
    # Tests run programs that they write, so the folder must allow that.
    if [ -n "$temporary" ]; then
        printf '#!/bin/sh\n' >"$temporary/program"
        chmod +x "$temporary/program"
        if "$temporary/program" 2>/dev/null; then
            rm -f "$temporary/program"
        else
            rm -rf "$temporary"
            temporary=
        fi
    fi
    [ -n "$temporary" ] || temporary="$(mktemp -d)"
    # If this script runs as root, PostgreSQL runs as another user.
    chmod 711 "$temporary"
    export TMPDIR="$temporary"
}

# Prints the help of a script, which is the comment at its head.
print_help() { sed -n '2,/^[^#]/{ /^#/s/^# \{0,1\}//p; }' "$1"; }

has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() { [ -n "$(find /usr/include /usr/local/include -name "$1" -print -quit 2>/dev/null)" ]; }
has_library() { PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -F "$1" >/dev/null; }

# Prints the names of the missing Debian packages, one on each line. The checks look for the needed files
# and not for the packages, so that files from another source count, too.
missing_packages() {
    [ -n "$(ls /etc/ssl/certs 2>/dev/null)" ] || echo ca-certificates
    has_command git || echo git
    has_command curl || echo curl
    has_command gcc || echo gcc
    has_command ld || echo binutils
    has_header stdio.h || echo libc6-dev
    [ -n "$(find /usr/include/c++ -name vector -print -quit 2>/dev/null)" ] || echo g++
    has_header sqlite3.h || echo libsqlite3-dev
    has_header libpq-fe.h || echo libpq-dev
    has_header zlib.h || echo zlib1g-dev
    # Swift's own tools need these three libraries.
    has_library libcurl.so.4 || echo libcurl4-openssl-dev
    has_library libxml2.so || echo libxml2-dev
    has_library libncurses.so.6 || echo libncurses-dev
    # The App Store counts its months in Los Angeles.
    [ -e /usr/share/zoneinfo/America/Los_Angeles ] || echo tzdata
}

# install_packages NAME…: installs with apt, as root or with sudo.
install_packages() {
    local next="apt-get update && apt-get install -y $*"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        has_command sudo || stop "not root, and there is no sudo; missing: $*" "as root: $next"
        # If nobody can type a password, sudo must not ask for one.
        if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
        next="sudo apt-get update && sudo apt-get install -y $*"
    fi
    say "Installing with apt: $*"
    # The bare "${a[@]}" of an empty array is an error in the bash of macOS.
    ${as_root[@]+"${as_root[@]}"} apt-get update -qq </dev/null || stop "apt-get update failed" "$next"
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" </dev/null \
        || stop "apt-get could not install: $*" "$next"
}

need_packages() {
    case "$(uname -s)" in
    Linux)
        local missing
        missing="$(missing_packages | tr '\n' ' ')"
        [ -n "${missing// /}" ] || return 0
        has_command apt-get \
            || stop "missing, by their names on Debian: $missing" \
                "install them with your system's package tool, then run this again"
        # shellcheck disable=SC2086  # a list of words
        install_packages $missing
        ;;
    Darwin)
        has_command pg_config || [ -d "$(brew --prefix libpq 2>/dev/null)" ] \
            || stop "libpq, PostgreSQL's client library, is missing" "brew install libpq"
        # SQLite, zlib and the C compiler come with Apple's command line tools.
        xcode-select -p >/dev/null 2>&1 \
            || stop "Apple's command line tools are missing" "xcode-select --install"
        has_command git || stop "git is missing" "brew install git"
        ;;
    *) stop "$(uname -s) is not supported: Perennial builds on Linux and macOS" ;;
    esac
}

# need_postgres: installs PostgreSQL's server programs. Tests start and stop their own servers.
need_postgres() {
    ! has_command initdb || return 0
    [ -z "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || return 0
    [ "$(uname -s)" != Darwin ] || stop "PostgreSQL is missing" "brew install postgresql"
    has_command apt-get || stop "PostgreSQL's server is missing" "install initdb and postgres"
    # Prevents Debian's own server, which would start at once, and at every boot.
    install_packages postgresql-common
    local setting=create_main_cluster file=/etc/postgresql-common/createcluster.conf
    local change="s/^#\?$setting.*/$setting = false/"
    if [ "$(id -u)" -eq 0 ]; then sed -i "$change" "$file"; else sudo sed -i "$change" "$file"; fi
    install_packages postgresql
}

# as_root COMMAND…: runs it as root or with sudo. If nobody can type a password, sudo must not ask for one.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# install_without_starting NAME…: installs packages that have a service of the same name, and prevents the
# service from starting, now and at the next boot.
install_without_starting() {
    local policy=/usr/sbin/policy-rc.d made="" code=0
    if [ ! -e "$policy" ]; then
        made=1
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod +x "$policy"
    fi
    # In a subshell, because install_packages may end its shell.
    (install_packages "$@") || code=$?
    [ -z "$made" ] || as_root rm -f "$policy"
    [ "$code" -eq 0 ] || exit "$code"
    ! has_command systemctl || as_root systemctl disable --quiet "$@" 2>/dev/null || true
}

# need_proxies: installs the proxies that tests start and stop. If they are missing and cannot be installed,
# a message says that these tests are skipped.
need_proxies() {
    local name missing=()
    for name in nginx haproxy caddy apache2 varnishd; do
        # The package of the program varnishd has another name.
        has_command "$name" || [ -x "/usr/sbin/$name" ] || missing+=("${name/varnishd/varnish}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! has_command apt-get; then
        say "Left out: tests behind ${missing[*]}, which are not installed"
        return 0
    fi
    install_without_starting "${missing[@]}"
}

# need_promtool: installs Prometheus, whose promtool checks metrics and alert rules. If it is missing and cannot
# be installed, a message says that these tests are skipped.
need_promtool() {
    ! has_command promtool || return 0
    if ! has_command apt-get; then
        say "Left out: tests with promtool, which is not installed"
        return 0
    fi
    install_without_starting prometheus
}

# need_age: installs age, which encrypts backups. If it is missing and cannot be installed, a message says that these
# tests are skipped.
need_age() {
    ! has_command age || return 0
    if ! has_command apt-get; then
        say "Left out: tests with age, which is not installed"
        return 0
    fi
    install_packages age
}

# need_bucket_server: installs an S3 server into .perennial/buckets, for the tests of backups in a bucket. If that is
# not possible, a message says that these tests are skipped.
need_bucket_server() {
    local folder="$root/.perennial/buckets" list="$server/Tests/Buckets/requirements.txt"
    ! cmp -s "$list" "$folder/installed" || return 0
    need_python
    say "Installing into .perennial/buckets: $(grep -v '^#' "$list" | tr '\n' ' ')"
    mkdir -p "$root/.perennial"
    if python3 -m venv --clear "$folder" && "$folder/bin/pip" install --quiet \
        --disable-pip-version-check --requirement "$list"; then
        cp "$list" "$folder/installed"
    else
        rm -rf "$folder"
        say "Left out: tests with an S3 server, which could not be installed"
    fi
}

# need_python: installs Python with the modules for virtual environments.
need_python() {
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 && return 0
    [ "$(uname -s)" != Darwin ] || stop "python3 is missing" "brew install python"
    has_command apt-get || stop "python3 with venv is missing" "install python3 and its venv module"
    install_packages python3 python3-venv
}

# need_chromium: installs the browser for the tests of the dashboard, and two families of fonts, because no
# layout may depend on one of them.
need_chromium() {
    need_fonts
    local place
    for place in "${PERENNIAL_CHROMIUM:-chromium}" chromium-browser google-chrome \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        ! has_command "$place" || return 0
    done
    local next="install Chromium, or name one in PERENNIAL_CHROMIUM"
    [ "$(uname -s)" != Darwin ] || next="brew install --cask google-chrome"
    has_command apt-get || stop "Chromium is missing" "$next"
    install_packages chromium
}

# need_fonts: installs the fonts that Server/Tests/Browser/browser.py names.
need_fonts() {
    [ "$(uname -s)" = Linux ] && has_command apt-get || return 0
    [ -d /usr/share/fonts/truetype/dejavu ] || install_packages fonts-dejavu-core
    [ -d /usr/share/fonts/truetype/liberation ] || [ -d /usr/share/fonts/truetype/liberation2 ] \
        || install_packages fonts-liberation
}

# make_python NAME LIST: makes a Python in .perennial/NAME with the packages in the file LIST.
make_python() {
    need_python
    local folder="$root/.perennial/$1" list="$2"
    ! cmp -s "$list" "$folder/installed" || return 0
    say "Installing into .perennial/$1: $(grep -v '^#' "$list" | tr '\n' ' ')"
    mkdir -p "$root/.perennial"
    python3 -m venv --clear "$folder" || stop "no virtual environment could be made" \
        "python3 -m venv $folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$list" \
        || stop "pip could not install what tests need" \
            "$folder/bin/pip install --requirement $list"
    cp "$list" "$folder/installed"
}

# Sets `browser_python`: a Python with the packages that Server/Tests/Browser needs.
need_browser_python() {
    make_python browser "$server/Tests/Browser/requirements.txt"
    browser_python="$root/.perennial/browser/bin/python"
}

# need_collector_python: makes a Python that decodes what is sent to a collector of traces.
need_collector_python() { make_python collector "$root/bin/lib/requirements/collector.txt"; }

# need_mail_server: makes a Python with the mail server that tests start and stop.
need_mail_server() { make_python mail "$root/bin/lib/requirements/mail.txt"; }

# need_openid_providers: makes a Python with the providers of OpenID Connect that tests start and stop.
need_openid_providers() {
    make_python openid-providers "$root/bin/lib/requirements/openid-providers.txt"
}

# need_http2_client: makes a Python with a client of HTTP/2 that can break its rules.
need_http2_client() { make_python http2 "$root/bin/lib/requirements/http2.txt"; }

# browser_tests ARGUMENTS…: runs Server/Tests/Browser against the program that was built. The last
# line is "N passed, N failed".
browser_tests() {
    (cd "$server/Tests/Browser" && PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
        "$browser_python" -m pytest "$@" </dev/null)
}

need_swift() {
    if ! has_command swift && [ -x "$HOME/.local/share/swiftly/bin/swift" ]; then
        export PATH="$HOME/.local/share/swiftly/bin:$PATH"
    fi
    local wanted="Swift $swift_major_min.$swift_minor_min or newer"
    local next="see https://www.swift.org/install/linux, then run this again"
    [ "$(uname -s)" != Darwin ] \
        || next="install Xcode 26 or newer, or: brew install swiftly && swiftly init"
    has_command swift || stop "swift is not on the PATH; Perennial needs $wanted" "$next"
    local line
    line="$(swift --version 2>&1)" || stop "swift --version fails: $line" "$next"
    [[ "$line" =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] \
        || stop "swift --version says: $line" "$next"
    local major="${BASH_REMATCH[1]}" minor="${BASH_REMATCH[2]}"
    if [ "$major" -lt "$swift_major_min" ] \
        || { [ "$major" -eq "$swift_major_min" ] && [ "$minor" -lt "$swift_minor_min" ]; }; then
        stop "found Swift $major.$minor at $(command -v swift); Perennial needs $wanted" "$next"
    fi
}

# Installs or checks everything that a build needs.
need_tools() {
    need_packages
    need_swift
}

# swift_in PACKAGE VERB ARGUMENTS…: runs swift with the same flags in all our builds, so that they share
# their products. -O2 for C makes the cryptography of a debug build ten times faster.
swift_in() {
    local package="$1" verb="$2"
    shift 2
    swift "$verb" --package-path "$package" -Xcc -O2 "$@" </dev/null
}

# release_in PACKAGE VERB ARGUMENTS…: runs an optimised build, on Linux with Swift's runtime linked into the
# program. A notification then takes a tenth less time, and the program runs without an installed Swift.
release_in() {
    local package="$1" verb="$2"
    shift 2
    local static=()
    [ "$(uname -s)" != Linux ] || static=(--static-swift-stdlib)
    swift_in "$package" "$verb" --configuration release ${static[@]+"${static[@]}"} "$@"
}

# build_release CLONE PRODUCT…: builds products of a clone in release mode. Sets `programs`, their folder.
build_release() {
    local clone="$1" product
    shift
    for product in "$@"; do
        release_in "$clone/Server" build --product "$product" \
            || stop "the build failed (see above)" "rm -rf $clone/Server/.build, then run this again"
    done
    programs="$(release_in "$clone/Server" build --show-bin-path)"
}

# find_commit NAME: sets `commit` to the full name of a commit of this clone.
find_commit() {
    commit="$(git -C "$root" rev-parse --verify --quiet "$1^{commit}")" \
        || stop "there is no commit $1 here" "git log --oneline"
}

# build_commit COMMIT PRODUCT…: builds products of another commit in release mode. Sets `programs`. The clone stays,
# with its build, for the next time.
build_commit() {
    local commit="$1" clone="$server/.build/against/${1:0:12}"
    shift
    say "Building ${commit:0:12}: the first time this takes some minutes"
    [ -d "$clone" ] || git clone --quiet "$root" "$clone"
    git -C "$clone" checkout --quiet "$commit" \
        || stop "the clone of ${commit:0:12} lacks the commit" "rm -rf $clone, then run this again"
    # Both builds use the same versions of packages that the manifest does not name.
    cp "$server/Package.resolved" "$clone/Server/Package.resolved"
    build_release "$clone" "$@"
}

# Builds the program, and sets `perennial` to its path.
build_program() {
    if [ -d "$server/.build/debug" ]; then
        say "Building the server"
    else
        say "Building the server: the first time this fetches the packages and takes some minutes"
    fi
    swift_in "$server" build --product perennial \
        || stop "the build failed (see above)" \
            "if packages could not be fetched, run this again; if .build is damaged: rm -rf Server/.build"
    perennial="$server/.build/debug/perennial"
    [ -x "$perennial" ] || stop "the build left no program at $perennial" "rm -rf Server/.build"
}
