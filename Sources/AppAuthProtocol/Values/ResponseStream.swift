package import AppAuthConcurrency

/// The body of a response that still arrives. If it is released, the transfer ends.
package final class ResponseStream: Sendable {
    package let body: BytePipe
    private let end: @Sendable () -> Void

    package init(_ body: BytePipe, end: @escaping @Sendable () -> Void) { (self.body, self.end) = (body, end) }

    deinit { end() }
}

extension ResponseStream: Hashable {
    package static func == (one: ResponseStream, other: ResponseStream) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
