internal import AppAuth
internal import Glibc

/// Prints a line at once, even into a pipe, and without control characters: much of a sample's output comes from a
/// server.
package func tell(_ line: String) {
    print(line.onOneLine)
    fflush(nil)
}
