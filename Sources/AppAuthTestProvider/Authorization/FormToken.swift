internal import JOSE

/// The token in a form that shows it comes from a page of this provider, for this browser and this purpose.
struct FormToken {
    let context: Context
    let browserID: String
    let purpose: String

    var value: String {
        Base64URL.encode(Digest.sha256.hmac(key: context.formSecret, Array("\(browserID) \(purpose)".utf8)))
    }

    func matches(_ form: Parameters) -> Bool { constantTimeEqual(form["csrf"] ?? "", value) }
}
