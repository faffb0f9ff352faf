/// A session bus with a GNOME Keyring that is unlocked with an empty password, for the time of a shell command.
package enum UnlockedKeyring {
    /// The program to start. It needs an `XDG_RUNTIME_DIR` with mode 0700.
    package static let program = "/usr/bin/dbus-run-session"

    /// Returns the arguments of the program.
    ///
    /// - Parameters:
    ///   - commands: The text of a shell command, whose exit status is that of the program.
    ///   - arguments: Its arguments.
    package static func arguments(running commands: String, _ arguments: [String] = []) -> [String] {
        // The keyring ends with its bus, which has to be killed: it ignores SIGTERM, as a test process does.
        let script = """
            ask() { dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / "$@"; }
            printf '\\n' | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1
            for attempt in $(seq 500); do
                ask org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets | grep -q true && break
            done
            \(commands)
            status=$?
            kill -9 $(ask org.freedesktop.DBus.GetConnectionUnixProcessID string:org.freedesktop.DBus | awk '{print $2}')
            socket=${DBUS_SESSION_BUS_ADDRESS#unix:path=}
            rm -f "${socket%%,*}"
            exit $status
            """
        return ["--", "sh", "-c", script, "sh"] + arguments
    }
}
