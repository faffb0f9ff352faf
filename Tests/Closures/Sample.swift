// Prints "first" twice if the compiler has the fault that Tests/Closures/run looks for.

import Testing

func value(of closure: () -> String) -> String? { closure() }

@main struct Sample {
    static func main() throws {
        let run = {
            for _ in 1...1 { print(try #require(value { "first" })) }
            if CommandLine.argc > 0 { print(value { "second" } ?? "") }
        }
        try run()
    }
}
