internal import AppAuth
internal import CShims
internal import Glibc

@main
enum Main {
    static func main() {
        // Secrets are in this process: no core dump, and no debugger of another process of the same person.
        shims_forbid_dumps()
        let input = StandardInput()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if StoredToken.print(arguments) { exit(0) }
        // libdispatch and GLib end the process where they cannot open a descriptor, so there has to be room from the beginning.
        let (room, need) = (openFilesLeft(atMost: 32), 32)
        guard room == need else {
            let console = Console(json: arguments.contains("--json"))
            console.fail(
                code: AuthError.Code.unavailable.rawValue,
                "too few files can be opened: expected room for \(need), found \(room). Raise the limit (ulimit -n)")
            exit(1)
        }
        // This thread is the only one yet, so that all others leave the signals to it.
        let interrupts = Interrupts(input)
        // Detached: this function is the main actor's, and the next line never gives that back.
        Task.detached {
            let status = await Tool.run(arguments, interrupts, input)
            input.restore()
            exit(status)
        }
        interrupts.wait()
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
