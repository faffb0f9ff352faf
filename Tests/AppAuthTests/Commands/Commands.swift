import Foundation
import TestFixtures

/// Runs a program to its end and returns its standard output.
@discardableResult
func run(_ program: String, _ arguments: String..., input: Data? = nil, in directory: URL? = nil) throws -> Data {
    try run(program, arguments, input: input, in: directory)
}

/// The same with a list of arguments.
@discardableResult
func run(_ program: String, _ arguments: [String], input: Data? = nil, in directory: URL? = nil) throws -> Data {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.currentDirectoryURL = directory
    let (output, problems) = (Pipe.exclusive(), Pipe.exclusive())
    process.standardOutput = output
    process.standardError = problems
    let source = Pipe.exclusive()
    process.standardInput = input == nil ? FileHandle.nullDevice : source
    try process.run()
    if let input {
        Thread.detachNewThread {
            try? source.fileHandleForWriting.write(contentsOf: input)
            try? source.fileHandleForWriting.close()
        }
    }
    let result = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        let text = try problems.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        throw CommandFailure(command: "\(program) \(arguments.joined(separator: " "))", output: text)
    }
    return result
}

struct CommandFailure: Error {
    var command: String
    var output: String
}

/// Compresses by the `gzip` command.
func gzip(_ data: Data) throws -> [UInt8] { try Array(run("gzip", "-9", "-c", input: data)) }
