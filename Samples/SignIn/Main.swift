internal import CShims
internal import Glibc

@main
enum Main {
    @MainActor static func main() async {
        // Secrets are in this process: no core dump, and no debugger of another process of the same person.
        shims_forbid_dumps()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if StoredToken.print(arguments) { exit(0) }
        exit(await Tool.run(arguments))
    }
}
