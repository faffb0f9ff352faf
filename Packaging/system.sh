# Functions for the scripts here that use the program in a minimal system: a folder, whose processes run in namespaces of their
# own. They source this file in the root of the sources, with their arguments.
. Samples/setup.sh
name=Packaging/$(basename "$0")
fail() {
    say "$name: $1"
    exit 1
}
skip() {
    say "$name: skipped. $1"
    exit 0
}

install_packages mmdebstrap
if [ "$(id -u)" != 0 ]; then
    # Without a prompt: the tests run this in the background.
    if sudo --non-interactive true 2>/dev/null; then exec sudo --non-interactive "$PWD/$name" "$@"; fi
    skip "It needs root, or sudo without a password."
fi
unshare --mount --pid --fork true 2>/dev/null ||
    skip "It needs mount and PID namespaces, which this process may not create."
folder=$(mktemp -d "$PWD/.build/clean-XXXXXX")
root=$folder/root
provider_process=
trap '[ -z "$provider_process" ] || kill "$provider_process"; rm -rf --one-file-system "$folder"' EXIT

# in_root USER COMMAND …: runs a command in the system. If this script ends, its processes do too.
in_root() { in_root_reading "$@" </dev/null; }
in_root_reading() {
    unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot --userspec="$1" "$root" \
        env -i LANG=C.UTF-8 HOME="/home/$1" PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        "${@:2}"
}

# The provider and the browser are outside. The network is the same.
products=.build/debug
start_provider() {
    exec {provider}< <(exec "$products/local-provider" "$@" </dev/null)
    provider_process=$!
    read -r issuer <&"$provider"
}

# login WORD …: signs in as alice with these words of sign-in, prints what it says, and returns its exit status. More of its
# environment is in the array `environment`.
environment=()
login() {
    local said line url process
    exec {said}< <(in_root zoe env "${environment[@]}" sign-in "$@" --no-browser --timeout 300 2>&1)
    process=$!
    while read -r line <&"$said"; do
        echo "$line"
        url=$(grep -o "$issuer/[^ ]*" <<<"$line") || continue
        SCRIPTED_BROWSER_FORM='username=alice&password=looking-glass' "$products/scripted-browser" "$url" &
        break
    done
    cat <&"$said"
    wait "$process"
}
