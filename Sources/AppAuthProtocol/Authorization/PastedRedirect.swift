extension AuthorizationRequest {
    /// Checks the whole redirect URL that a person has copied from a browser's address bar, where the browser could not
    /// come back by itself: it runs on another machine, or nothing can listen on this one.
    ///
    /// ```swift
    /// do { response = try request.response(fromPasted: field.text) }
    /// catch let error as AuthError where error.code == .wrongPaste { field.hint = error.message }
    /// ```
    /// It has to begin with ``redirectURI``, byte for byte; then the same checks follow as in
    /// ``response(fromQuery:)``, which need more of it than the code. White space around it and a fragment, which a
    /// browser would not send either, are left out of account.
    ///
    /// - Parameter text: At most 16 KiB of UTF-8.
    /// - Throws: ``AuthError`` with ``AuthError/Code/wrongPaste`` for a text that is no response to this request, which
    ///   leaves the request as it was; as ``response(fromQuery:)`` for a response that ends it. No message holds any of
    ///   the text.
    public func response(fromPasted text: String) throws -> AuthorizationResponse {
        // Bytes of ASCII are looked for: "?" and a combining mark behind it are one character of a String.
        let bytes = text.utf8
        guard bytes.count <= Self.pasteLimit else {
            throw Self.wrongPaste("expected an address of at most \(Self.pasteLimit) bytes, found a longer text")
        }
        let address = bytes.drop(while: \.isBlank).prefix { $0 != UInt8(ascii: "#") }.trimmedAtEnd
        let end = address.firstIndex(of: UInt8(ascii: "?")) ?? address.endIndex
        guard address[..<end].elementsEqual(redirectURI.utf8) else { throw mismatch(Substring(address)) }
        let query = String(Substring(address[end...].dropFirst()))
        if let response = try response(fromQuery: query) { return response }
        let parameters = FormParameters(decoding: query)
        guard parameters?.values("state").isEmpty == false else {
            throw Self.wrongPaste("expected the whole address, found one without 'state'")
        }
        throw Self.wrongPaste("this is the response to another sign-in: its 'state' is not the one of this request")
    }

    /// As long as what the listener reads of a request.
    package static let pasteLimit = 16 << 10

    /// What is probably wrong with an address that is not the redirect URI.
    private func mismatch(_ address: Substring) -> AuthError {
        let wanted = "the whole address that the browser ended at, from \(redirectURI)? on"
        if address.contains("code_challenge=") {
            return Self.wrongPaste(
                "this is the address that the sign-in begins at: open it in a browser, then paste \(wanted)")
        }
        guard let scheme = address.firstRange(of: "://") else {
            return Self.wrongPaste(
                address.contains("=")
                    ? "expected \(wanted), found a part of it"
                    : "expected \(wanted), found a single word: the code alone lacks what it is checked by")
        }
        let expected = redirectURI.prefix { $0 != ":" }
        let (location, own) = (Self.location(address), Self.location(redirectURI[...]))
        let what =
            address[..<scheme.lowerBound] != expected
            ? "another scheme" : location == own ? "another path" : "another host or port"
        return Self.wrongPaste("expected \(wanted), found an address with \(what)")
    }

    /// Host and port as they stand in a URL.
    private static func location(_ url: Substring) -> Substring {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return url[scheme.upperBound...].prefix { !"/?".contains($0) }
    }

    private static func wrongPaste(_ message: String) -> AuthError {
        AuthError(.wrongPaste, .redirect, message, outcome: .notSent)
    }
}

extension UInt8 {
    /// Space, tab and line ends.
    fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension Substring.UTF8View {
    fileprivate var trimmedAtEnd: Self {
        guard let last = lastIndex(where: { !$0.isBlank }) else { return prefix(0) }
        return self[...last]
    }
}
