# What Samples/run and Tests/run have in common: sourced by both, runs nothing by itself.

say() { printf '%s\n' "$*" >&2; }

# The Debian packages among the arguments that are not installed, one a line.
missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

# Runs a command as root, with sudo where we are somebody else.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs those of the named Debian packages that are missing. Status 1, with the command to type, if that is not possible.
install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "This script installs Debian and Ubuntu packages, and there is no apt-get here." \
            "Install what these packages hold with your system's own tool: $*. Then type: swift run sign-in demo"
        return 1
    fi
    local missing by_hand
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    by_hand="apt-get update && apt-get install --yes --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "Missing: ${missing[*]}. Neither root nor sudo is at hand; have root type:"
        say "$by_hand"
        return 1
    fi
    say "Missing, being installed: ${missing[*]}"
    # An update that fails (a stale mirror, another apt at work) need not keep the packages from being there.
    as_root apt-get -qq update >&2 </dev/null || say "apt-get update failed; trying with the lists that are here."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        install --yes --no-install-recommends "${missing[@]}" >&2 </dev/null || {
        say "These packages could not be installed: ${missing[*]}. As root, type: $by_hand"
        return 1
    }
}

# Status 1, with one sentence, unless Swift 6.2 or newer is here.
need_swift() {
    local found
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | sed -n 1p) || true
    if [ -z "$found" ] || [ "$(printf '%s\n' 6.2 "$found" | sort --version-sort | sed -n 1p)" != 6.2 ]; then
        say "Swift 6.2 or newer is needed, and ${found:+only Swift }${found:-none} is here: https://www.swift.org/install/linux/ says how to get it."
        return 1
    fi
}
