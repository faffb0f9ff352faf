package import AppAuthConcurrency
package import HTTPTypes

/// The body of a response that still arrives. If it is released, the transfer ends.
package final class ResponseStream: Sendable {
    package let body: BytePipe
    /// The fields after the body (RFC 9110 §6.5): complete when the body is.
    package let trailers: LockedValue<HTTPFields>
    private let end: @Sendable () -> Void

    package init(_ body: BytePipe, _ trailers: LockedValue<HTTPFields>, end: @escaping @Sendable () -> Void) {
        (self.body, self.trailers, self.end) = (body, trailers, end)
    }

    deinit { end() }
}

extension ResponseStream: Hashable {
    package static func == (one: ResponseStream, other: ResponseStream) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
