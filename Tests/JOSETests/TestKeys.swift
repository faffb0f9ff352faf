import JOSE

/// New keys. Generating an RSA key takes a tenth of a second, so there are two of them for all tests.
enum TestKeys {
    private static let rsa = Result { try SigningKey.generate(.rs256).pem }
    private static let otherRSA = Result { try SigningKey.generate(.rs256).pem }

    /// - Parameter isOther: Whether it must not be the RSA key that the other tests have. Keys of other kinds are always new.
    static func signing(_ algorithm: SignatureAlgorithm, isOther: Bool = false) throws -> SigningKey {
        switch algorithm.family {
        case .ecdsa, .edDSA, .mlDSA: try SigningKey.generate(algorithm)
        case .rsaPKCS1, .rsaPSS: try SigningKey(pem: (isOther ? otherRSA : rsa).get(), algorithm: algorithm)
        }
    }

    static func recipient(isOther: Bool = false) throws -> RecipientKey {
        try RecipientKey(pem: (isOther ? otherRSA : rsa).get())
    }
}
