internal import AppAuthConcurrency
internal import CLibssl
internal import JOSE
internal import NIOCore

/// The server side of one TLS connection, between the socket and HTTP.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The client's certificate in DER; nil until the handshake is done, and for a client without one.
    let certificate = LockedValue<[UInt8]?>(nil)
    private let ssl: OpaquePointer
    /// The bytes from the socket, and the bytes for it. The connection frees both.
    private let (incoming, outgoing): (OpaquePointer, OpaquePointer)
    private static let recordSize = 16 << 10

    init(_ context: TLSContext) throws {
        guard let ssl = SSL_new(context.pointer), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { throw ProviderError("expected memory for a TLS connection, found none") }
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_accept_state(ssl)
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
    }

    deinit { SSL_free(ssl) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var encrypted = unwrapInboundIn(data)
        encrypted.readWithUnsafeReadableBytes { Int(BIO_write(incoming, $0.baseAddress, Int32($0.count))) }
        var isOver = SSL_is_init_finished(ssl) == 0 && !shakeHands()
        var plain = ByteBuffer()
        while !isOver, SSL_is_init_finished(ssl) == 1 {
            var count: Int32 = 0
            plain.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.recordSize) { space in
                count = SSL_read(ssl, space.baseAddress, Int32(space.count))
                return max(0, Int(count))
            }
            guard count > 0 else {
                isOver = !canGoOn(after: count)
                break
            }
        }
        if let response = drained() { context.writeAndFlush(wrapOutboundOut(response), promise: nil) }
        if plain.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(plain)) }
        if isOver { context.close(promise: nil) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var plain = unwrapOutboundIn(data)
        while plain.readableBytes > 0 {
            var count: Int32 = 0
            plain.readWithUnsafeReadableBytes { bytes in
                count = SSL_write(ssl, bytes.baseAddress, Int32(min(bytes.count, Self.recordSize)))
                return max(0, Int(count))
            }
            guard count > 0 else {
                _ = canGoOn(after: count)
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            }
        }
        context.write(wrapOutboundOut(drained() ?? ByteBuffer()), promise: promise)
    }

    /// Continues the handshake.
    ///
    /// - Returns: Whether the connection can continue.
    private func shakeHands() -> Bool {
        let result = SSL_do_handshake(ssl)
        guard result == 1 else { return canGoOn(after: result) }
        certificate.withLock { $0 = peerCertificate() }
        return true
    }

    /// Returns whether OpenSSL only waits for I/O. Clears the error queue for the next user of the thread.
    private func canGoOn(after result: Int32) -> Bool {
        defer { ERR_clear_error() }
        return [SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE].contains(SSL_get_error(ssl, result))
    }

    private func peerCertificate() -> [UInt8]? {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
        defer { X509_free(certificate) }
        var der = [UInt8](repeating: 0, count: Int(max(0, i2d_X509(certificate, nil))))
        der.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            _ = i2d_X509(certificate, &position)
        }
        return der
    }

    /// Returns the bytes to be sent.
    private func drained() -> ByteBuffer? {
        let count = BIO_ctrl_pending(outgoing)
        guard count > 0 else { return nil }
        var buffer = ByteBuffer()
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
            max(0, Int(BIO_read(outgoing, $0.baseAddress, Int32(count))))
        }
        return buffer
    }
}
