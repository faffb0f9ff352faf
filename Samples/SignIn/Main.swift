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
}
