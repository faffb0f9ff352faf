internal import HTTPTypes

extension Client {
    /// Puts id and secret into the form (RFC 6749 §2.3.1), however the client was made, for servers that look for them
    /// nowhere else.
    func authenticate(inForm form: inout FormParameters, _ fields: inout HTTPFields) {
        fields[.authorization] = nil
        for name in ["client_id", "client_secret"] { form.remove(name) }
        form.append("client_id", id)
        form.append("client_secret", authentication.secret?.reveal())
    }
}
