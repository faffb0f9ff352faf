internal import BenchReport
internal import Glibc

/// The least that a listener can do: poll, accept, read up to an empty line, send, see off.
struct PollServer: BenchedServer {
    let port: Int
    private let wakeUp: Int32
    private let thread: pthread_t

    init() throws {
        let (listener, port) = try Loopback.listen()
        self.port = port
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("a pipe cannot be made") }
        wakeUp = ends[1]
        let loop = Unmanaged.passRetained(Loop(listener, ends[0]))
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Loop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, loop.toOpaque())
        self.thread = thread
    }

    func stop() async throws {
        close(wakeUp)
        pthread_join(thread, nil)
    }

    private final class Loop {
        private let listener: Int32
        private let wakeUp: Int32
        private var connections: [(descriptor: Int32, hasResponse: Bool)] = []
        private var buffer = [UInt8](repeating: 0, count: 16 << 10)

        init(_ listener: Int32, _ wakeUp: Int32) { (self.listener, self.wakeUp) = (listener, wakeUp) }

        func run() {
            while true {
                var polled = ([wakeUp, listener] + connections.map(\.descriptor)).map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
                guard poll(&polled, nfds_t(polled.count), -1) > 0, polled[0].revents == 0 else { break }
                for index in connections.indices where polled[index + 2].revents != 0 { proceed(index) }
                connections.removeAll { $0.descriptor < 0 }
                if polled[1].revents != 0 { connections.append((Glibc.accept(listener, nil, nil), false)) }
            }
            for connection in connections { close(connection.descriptor) }
            close(listener)
            close(wakeUp)
        }

        private func proceed(_ index: Int) {
            let descriptor = connections[index].descriptor
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 {
                close(descriptor)
                connections[index].descriptor = -1
            } else if !connections[index].hasResponse, buffer[count - 1] == 10 {
                connections[index].hasResponse = true
                send(descriptor, BenchedResponse.bytes, BenchedResponse.bytes.count, Int32(MSG_NOSIGNAL))
                shutdown(descriptor, Int32(SHUT_WR))
            }
        }
    }
}

/// A response as long as the library's.
enum BenchedResponse {
    static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 2300)
    static let bytes =
        Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 2300\r\nConnection: close\r\n\r\n".utf8) + body
}
