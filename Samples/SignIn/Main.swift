internal import CShims
internal import Glibc

@main
enum Main {
    static func main() async {
        // Secrets are in this process: no core dump, and no debugger of another process of the same person.
        shims_forbid_dumps()
        exit(await Tool.run(Array(CommandLine.arguments.dropFirst())))
    }
}
