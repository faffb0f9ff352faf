internal import NIOCore
internal import NIOHTTP1

/// A limit for the size of a request head, from the first byte to the empty line. It ends the connection if the head is
/// larger. The parser's own limits are higher, and do not cover the whole head.
///
/// It is in front of the parser, and its ``Mark`` is behind the parser: bytes in front are counted until a head comes
/// out behind.
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

    /// Notifies the limit when a head is complete, and when the next one can begin.
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
