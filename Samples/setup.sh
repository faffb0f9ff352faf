# Functions for Samples/run and Tests/*, which source this file. It runs nothing by itself.

say() { printf '%s\n' "$*" >&2; }

# Prints those of the named Debian packages that are not installed, one per line.
missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

# Runs a command as root. Other users need sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs those of the named Debian packages that are missing. If that fails, prints the command to run as root and returns 1.
install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "This script installs packages only on Debian and Ubuntu, because it needs apt-get." \
            "Install the equivalents of these packages with your system's own tool: $*. Then run: swift run sign-in demo"
        return 1
    fi
    local missing by_hand
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    by_hand="apt-get update && apt-get install --yes --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "Missing packages: ${missing[*]}. This script needs root or sudo to install them. As root, run:"
        say "$by_hand"
        return 1
    fi
    say "Installing missing packages: ${missing[*]}"
    # If the update fails (a stale mirror, or another apt is running), the packages may still be available.
    as_root apt-get -qq update >&2 </dev/null || say "apt-get update failed. Trying with the existing package lists."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        install --yes --no-install-recommends "${missing[@]}" >&2 </dev/null || {
        say "These packages could not be installed: ${missing[*]}. As root, run: $by_hand"
        return 1
    }
}

# Prints an error and returns 1 unless Swift 6.2 or newer is installed.
need_swift() {
    local found
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | sed -n 1p) || true
    if [ -z "$found" ] || [ "$(printf '%s\n' 6.2 "$found" | sort --version-sort | sed -n 1p)" != 6.2 ]; then
        say "Swift 6.2 or newer is required, found ${found:-none}. To install it, see https://www.swift.org/install/linux/"
        return 1
    fi
}
