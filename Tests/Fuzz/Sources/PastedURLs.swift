internal import AppAuth

/// The invariants of an address that a user pastes.
enum PastedURLs {
    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let request = Parameters.request
        let blank: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D]
        let address = text.utf8.drop { blank.contains($0) }.prefix { $0 != UInt8(ascii: "#") }
        let query =
            address.starts(with: (request.redirectURI + "?").utf8)
            ? String(decoding: address.dropFirst(request.redirectURI.utf8.count + 1), as: UTF8.self) : nil
        if let query { Parameters.check(query) }
        do {
            _ = try request.response(fromPasted: text)
            expect(query != nil, "accepted at another address")
        } catch let error as AuthError {
            expect(error.message.isOneLine && error.message.unicodeScalars.count <= 4000, "an error of several lines")
            if error.code == .wrongPaste { expect(!error.message.contains("stolen"), "a code in an error") }
            if query == nil { expect(error.code == .wrongPaste, "ended by a text that is no response: \(error.code)") }
        } catch { fatalError("another error: \(error)") }
    }
}
