extension AuthorizationRequest {
    /// Checks a redirect URL that the user copied from the browser's address bar. Use it if the browser cannot return
    /// by itself, because it runs on another machine or nothing can listen on this one.
    ///
    /// ```swift
    /// do { response = try request.response(fromPasted: field.text) }
    /// catch let error as AuthError where error.code == .wrongPaste { field.hint = error.message }
    /// ```
    /// The text must be the whole URL, not only the code, and begin with ``redirectURI``, byte for byte. The same
    /// checks follow as in ``response(fromQuery:)``. Surrounding white space, quotes and angle brackets are
    /// ignored, and so is a fragment, which a browser would not send either.
    ///
    /// - Parameter text: At most 16 KiB of UTF-8.
    /// - Throws: ``AuthError`` with ``AuthError/Code/wrongPaste`` if the text is not a response to this request, which
    ///   remains valid; as ``response(fromQuery:)`` for a response that ends it. No message contains any of the text.
    public func response(fromPasted text: String) throws -> AuthorizationResponse {
        // Searches for ASCII bytes: "?" followed by a combining mark would be a single character of a String.
        let bytes = text.utf8
        guard bytes.count <= Self.pasteLimit else {
            throw Self.wrongPaste("the text is longer than \(Self.pasteLimit) bytes. Paste only the address")
        }
        let quotes = "\"'<>".utf8
        let quoted = bytes.drop(while: \.isBlank)
        var address = quoted.drop { quotes.contains($0) }.prefix { $0 != UInt8(ascii: "#") }.trimmedAtEnd
        let isQuoted = quoted.first.map(quotes.contains) == true
        while isQuoted, let last = address.last, quotes.contains(last) { address = address.dropLast() }
        let end = address.firstIndex(of: UInt8(ascii: "?")) ?? address.endIndex
        guard address[..<end].elementsEqual(redirectURI.utf8) else { throw mismatch(Substring(address)) }
        let query = String(Substring(address[end...].dropFirst()))
        if let response = try response(fromQuery: query) { return response }
        guard let found = try parameters(in: query).values("state").first else {
            throw Self.wrongPaste("the address has no 'state'. Paste the whole address")
        }
        // A narrow terminal, or an e-mail, has broken the line.
        if !found.isEmpty, state.reveal().utf8.starts(with: found.utf8) {
            throw Self.wrongPaste("the address is cut off. Paste all of it, in one line")
        }
        throw Self.wrongPaste("it belongs to another sign-in: its 'state' is not the one of this request")
    }

    /// The same as the listener's limit for a request.
    package static let pasteLimit = 16 << 10

    /// Describes what is probably wrong with an address that is not the redirect URI.
    private func mismatch(_ address: Substring) -> AuthError {
        let wanted = "the whole address that the browser ended at (it begins with \(redirectURI)?)"
        if address.contains("code_challenge=") {
            return Self.wrongPaste(
                "it starts the sign-in. Open it in a browser, then paste \(wanted)")
        }
        guard let scheme = address.firstRange(of: "://") else {
            return Self.wrongPaste(
                address.contains("=")
                    ? "it is only a part of the address. Paste \(wanted)"
                    : "paste the whole address, not just the code (it begins with \(redirectURI)?)")
        }
        let expected = redirectURI.prefix { $0 != ":" }
        let (location, own) = (Self.location(address), Self.location(redirectURI[...]))
        let what =
            address[..<scheme.lowerBound] != expected
            ? "another scheme" : location == own ? "another path" : "another host or port"
        return Self.wrongPaste("it has \(what). Paste \(wanted)")
    }

    /// Returns the host and port of a URL, as written.
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
