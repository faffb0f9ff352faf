/// The bytes that a client of the listener sends on one connection, and the same as a redirect's parameters.
enum Redirect {
    @Sendable static func check(_ input: [UInt8]) {
        Connection.check(input)
        Parameters.check(String(decoding: input, as: UTF8.self))
    }
}
