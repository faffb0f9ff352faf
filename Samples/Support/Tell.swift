internal import AppAuth
internal import Glibc

/// Prints a line at once, also into a pipe, and without control characters: much of what a sample shows comes from a
/// server.
package func tell(_ line: String) {
    print(line.onOneLine)
    fflush(nil)
}
