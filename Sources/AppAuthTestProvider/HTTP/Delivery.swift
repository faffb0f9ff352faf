/// How the bytes of a response go out.
enum Delivery: Sendable {
    case whole
    /// All of it, and all of it again.
    case twice
    /// Byte by byte, with a pause after each.
    case drip(every: Duration)
    /// The first bytes, head included, then the end of the connection.
    case cutOff(after: Int)
    /// The first bytes, then a TCP reset.
    case reset(after: Int)
    /// The head, then a body without an end.
    case endless
}
