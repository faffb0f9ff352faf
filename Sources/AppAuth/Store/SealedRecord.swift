/// What a store keeps of a session.
package struct SealedRecord: Equatable, Sendable {
    /// The session as JSON, or a nonce of 12 bytes, the ciphertext and a tag of 16 bytes; nil if there is no session.
    package var bytes: [UInt8]?
    /// The name of the key, or nil if the session is not encrypted.
    package var keyID: String?

    package init(bytes: [UInt8]? = nil, keyID: String? = nil) { (self.bytes, self.keyID) = (bytes, keyID) }
}
