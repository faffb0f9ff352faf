import AppAuthTestProvider
import Foundation
import TestFixtures

/// A WebSocket server over TLS, in Python: it returns each message, and ends after a Close frame.
struct WebSocketServer {
    let port: String

    static func run(_ files: TLSFiles, _ test: (WebSocketServer) async throws -> Void) async throws {
        // It ends with its standard input, and so with this process.
        let (input, output) = (Pipe.exclusive(), Pipe.exclusive())
        let process = try Spawn.start(
            ["python3", "-c", script, files.certificate, files.key], ProcessInfo.processInfo.environment,
            input: .descriptor(input.fileHandleForReading.fileDescriptor),
            output: output.fileHandleForWriting.fileDescriptor, errors: STDERR_FILENO)
        try output.fileHandleForWriting.close()
        let line = try await onThread { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }
        let server = WebSocketServer(port: line.filter { !$0.isWhitespace })
        let result: Result<Void, any Error>
        do { result = .success(try await test(server)) } catch { result = .failure(error) }
        try input.fileHandleForWriting.close()
        _ = await Spawn.end(of: process)
        try result.get()
    }

    private static let script = """
        import base64, hashlib, os, socket, ssl, sys, threading

        def serve(connection):
            stream = connection.makefile("rb")
            fields = {}
            while (line := stream.readline().strip()):
                name, _, value = line.partition(b": ")
                fields[name.lower()] = value
            key = fields[b"sec-websocket-key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            accept = base64.b64encode(hashlib.sha1(key).digest())
            connection.sendall(b"HTTP/1.1 101 \\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                + b"Sec-WebSocket-Accept: " + accept + b"\\r\\n\\r\\n")
            while True:
                first, second = stream.read(2)
                size = second & 127
                if size == 126: size = int.from_bytes(stream.read(2), "big")
                if size == 127: size = int.from_bytes(stream.read(8), "big")
                mask = int.from_bytes(stream.read(4) * (size // 4 + 1), "big")
                data = (int.from_bytes(stream.read(size) + b"\\0" * (4 - size % 4), "big") ^ mask)
                data = data.to_bytes(size // 4 * 4 + 4, "big")[:size]
                head = bytes([first]) + (bytes([size]) if size < 126 else b"\\x7f" + size.to_bytes(8, "big"))
                connection.sendall(head + data)
                if first & 15 == 8: return

        def run(connection):
            with context.wrap_socket(connection, server_side=True) as secure: serve(secure)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        def accept():
            while True: threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()
        os._exit(0)
        """
}
