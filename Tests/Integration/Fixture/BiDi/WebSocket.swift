import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A WebSocket (RFC 6455) to a port of this machine, for text messages.
struct WebSocket: Sendable {
    private let channel: any Channel
    /// The received messages; the sequence ends when the connection does.
    let messages: AsyncStream<String>

    init(port: Int, path: String) async throws {
        let (messages, message) = AsyncStream.makeStream(of: String.self)
        self.messages = messages
        channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.seconds(10))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.upgrade(channel, host: "127.0.0.1:\(port)", path: path, message)
                }
            }
            .get()
    }

    /// Sends the handshake, and adds the handlers of messages once its response is there.
    private static func upgrade(
        _ channel: any Channel, host: String, path: String, _ message: AsyncStream<String>.Continuation
    ) throws -> EventLoopFuture<any Channel> {
        let limit = 64 << 20  // a screenshot comes in one message
        let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: limit) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: limit, maxAccumulatedFrameSize: limit),
                    MessageReader(message),
                ])
                return channel
            }
        }
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["Host": host])
        let upgrade = NIOTypedHTTPClientUpgradeConfiguration<any Channel>(
            upgradeRequestHead: head, upgraders: [upgrader]
        ) { channel in
            channel.eventLoop.makeFailedFuture(SetupFailure("ws://\(host)\(path) did not become a WebSocket."))
        }
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade))
    }

    func send(_ text: String) async throws {
        let data = channel.allocator.buffer(string: text)
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: data)
        try await channel.writeAndFlush(frame).get()
    }

    func close() async { try? await channel.close().get() }
}

/// Hands texts on, and responds to pings (RFC 6455 §5.5.2).
private final class MessageReader: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let message: AsyncStream<String>.Continuation

    init(_ message: AsyncStream<String>.Continuation) { self.message = message }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: message.yield(String(buffer: frame.unmaskedData))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        message.finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
