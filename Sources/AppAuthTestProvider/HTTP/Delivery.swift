/// The way the bytes of a response are sent.
enum Delivery: Sendable {
    case whole
    /// The whole response, twice.
    case twice
    /// Byte by byte, with a pause after each.
    case drip(every: Duration)
    /// The first bytes, including the head, then the end of the connection.
    case cutOff(after: Int)
    /// The first bytes, then a TCP reset.
    case reset(after: Int)
    /// The head, then a body without an end.
    case endless
}
