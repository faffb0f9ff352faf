internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// The invariants of a user's identifier and of the response of the host in it (RFC 7033, OpenID Connect Discovery §2).
///
/// The first line of an input is the identifier, and the rest is the response.
enum WebFingerResponses {
    private struct Host: HTTPTransport {
        let document: [UInt8]

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            let (request, authority) = (exchange.head, exchange.head.authority ?? "")
            expect(request.method == .get && !authority.isEmpty, "another request")
            expect(authority.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !authority.contains("@"), "a bad host")
            let url = "\(request.scheme ?? "")://\(authority)\(request.path ?? "")"
            do { Metadata.check(try SecureURL(url)) } catch { fatalError("\(error): \(url)") }
            expect(request.path?.hasPrefix("/.well-known/webfinger?resource=") == true, "another path")
            return TransportResponse(HTTPResponse(status: .ok), body: document)
        }
    }

    @Sendable static func check(_ input: [UInt8]) {
        let line = input.prefix { $0 != UInt8(ascii: "\n") }
        let (identifier, document) = (String(decoding: line, as: UTF8.self), Array(input.dropFirst(line.count + 1)))
        wait {
            do {
                let discovery = Discovery(environment: Environment(transport: Host(document: document)))
                let issuer = try await discovery.issuer(of: identifier)
                Metadata.check(issuer.url)
                let links = (try? JSON(parsing: document))?["links"]?.array ?? []
                expect(links.contains { $0["href"]?.string?.isExactly(issuer.string) == true }, "another issuer")
            } catch let error as AuthError {
                expect(
                    error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "an error of several lines")
            } catch { fatalError("another error: \(error)") }
        }
    }
}
