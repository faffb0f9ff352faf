internal import Glibc

/// A failed call of the system, by its error number: see errno(3).
package struct SystemError: Error {
    package let number: Int32

    package init(number: Int32) { self.number = number }

    /// The system's description of the error.
    package var text: String { Self.text(number) }

    /// The system's description of an error number.
    package static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}
