internal import NIOCore
internal import NIOHTTP1

/// Ends a connection whose request head, from the first byte to the empty line, is larger than allowed. The parser has
/// limits too, but larger ones, and none for the whole.
///
/// Stands before and, as ``Mark``, behind the parser: what passes in front is counted until a head comes out behind.
final class HeadLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded: Error {}

    private let maximum: Int
    private var count = 0
    private var readsHead = true

    init(maximum: Int) { self.maximum = maximum }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if readsHead { count += unwrapInboundIn(data).readableBytes }
        guard count <= maximum else { return context.fireErrorCaught(Exceeded()) }
        context.fireChannelRead(data)
    }

    /// Tells the limit that a head is complete, and when the next one can begin.
    final class Mark: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias InboundOut = HTTPServerRequestPart
        private let limit: HeadLimit

        init(_ limit: HeadLimit) { self.limit = limit }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: (limit.readsHead, limit.count) = (false, 0)
            case .body: break
            case .end: limit.readsHead = true
            }
            context.fireChannelRead(data)
        }
    }
}
