package import Foundation

extension Pipe {
    /// Creates a pipe whose ends only the program inherits that it is for.
    ///
    /// A program that another test starts at the same time may inherit the ends of one that Foundation creates. Then the end of
    /// the input comes only when that program ends, too.
    package static func exclusive() -> Pipe {
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            precondition(fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC) == 0, "no pipe: errno \(errno)")
        }
        return pipe
    }
}
