internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// swift-nio's HTTP server on one thread, with its standard pipeline.
struct NIOServer: BenchedServer {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    let port: Int

    init() async throws {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(Responder())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }

    private final class Responder: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            let fields: HTTPHeaders = ["Content-Length": "\(BenchedResponse.body.count)", "Connection": "close"]
            let head = HTTPResponseHead(version: .http1_1, status: .badRequest, headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: BenchedResponse.body)))), promise: nil)
            let (channel, loop) = (context.channel, context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
                loop.execute { channel.close(promise: nil) }
            }
        }
    }
}
