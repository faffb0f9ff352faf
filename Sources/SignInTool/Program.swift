internal import AppAuth
internal import CShims
internal import Glibc
internal import TerminalShims

/// The program `sign-in`.
package enum Program {
    /// Runs the command in the arguments of this process, and ends the process.
    package static func main() {
        // This process holds secrets: no core dump, and no debugger of another process of the same user.
        shims_forbid_dumps()
        process_rest(WatchRest.variable)
        let input = StandardInput()
        prepareStreams()
        let arguments = Array(CommandLine.arguments.dropFirst())
        requireText()
        if StoredToken.print(arguments) { exit(0) }
        findBus()
        prepareTPM()
        // A command has few threads, each for a moment. A heap for each would cost more than it saves.
        process_share_heap()
        // libdispatch and GLib abort the process if they cannot open a descriptor, so there must be room from the
        // beginning.
        let (room, need) = (openFilesLeft(atMost: 32), 32)
        guard room == need else {
            let console = Console(json: arguments.contains("--json"))
            console.fail(
                code: AuthError.Code.unavailable.rawValue,
                "too few files can be opened: expected room for \(need), found \(room). Raise the limit: ulimit -n 1024"
            )
            exit(1)
        }
        // This is the only thread yet, so all others inherit the blocked signals.
        let interrupts = Interrupts(input)
        // Detached: this function is on the main actor, and the next line never returns.
        Task.detached {
            let status = await Tool.run(arguments, interrupts, input)
            input.restore()
            exit(status)
        }
        interrupts.wait()
    }

    /// Sets the address of the user's session bus where systemd has it (file-hierarchy(7)). A job of cron has no variable of the
    /// login, and its keyring may be open all the same.
    private static func findBus() {
        guard getenv("DBUS_SESSION_BUS_ADDRESS") == nil, getenv("XDG_RUNTIME_DIR") == nil else { return }
        let path = "/run/user/\(geteuid())/bus"
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else { return }
        setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=\(path)", 1)
    }

    /// Keeps the TPM's library from writing to standard error, and from searching for other TPMs than the machine's.
    private static func prepareTPM() {
        setenv("TSS2_LOG", "all+none", 0)
        let device = "/dev/tpmrm0"
        let isNamed = getenv("TPM2OPENSSL_TCTI").map { $0.pointee != 0 } ?? false
        if !isNamed, access(device, R_OK | W_OK) == 0 { setenv("TPM2OPENSSL_TCTI", "device:\(device)", 1) }
    }

    /// Ends the command if an argument is not UTF-8. Text with replacements would be another file or client.
    private static func requireText() {
        for number in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[number], String(validatingCString: argument) == nil else {
                continue
            }
            let console = Console(json: CommandLine.arguments.contains("--json"))
            console.fail(
                code: "usage", "argument \(number) is not UTF-8: expected text, and paths whose names are UTF-8")
            exit(2)
        }
    }

    /// Makes sure that no output ends the process in the middle of a refresh, or goes to a file of the session.
    private static func prepareStreams() {
        // If the reader of a pipe is gone, writing to it is an error.
        signal(SIGPIPE, SIG_IGN)
        // A closed stream is opened on /dev/null: otherwise the next file gets its number. Only the error output accepts
        // data, since a result that is not written is a failure.
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 {
            _ = open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func openFilesLeft(atMost count: Int) -> Int {
        var copies: [Int32] = []
        while copies.count < count {
            let copy = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard copy >= 0 else { break }
            copies.append(copy)
        }
        for copy in copies { close(copy) }
        return copies.count
    }
}
