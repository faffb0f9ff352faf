internal import SignInTool

@main
enum Main {
    static func main() { Program.main() }
}
