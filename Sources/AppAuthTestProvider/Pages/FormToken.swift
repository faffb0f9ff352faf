internal import JOSE

/// A token in a form that proves that the form comes from a page of this provider, for this browser and purpose.
struct FormToken {
    let context: Context
    let browserID: String
    let purpose: String

    var value: String {
        Base64URL.encode(Digest.sha256.hmac(key: context.formSecret, Array("\(browserID) \(purpose)".utf8)))
    }

    func matches(_ form: Parameters) -> Bool { constantTimeEqual(form["csrf"] ?? "", value) }
}
