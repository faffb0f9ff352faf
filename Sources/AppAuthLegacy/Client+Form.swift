internal import HTTPTypes

extension Client {
    /// Puts the client id and secret into the form (RFC 6749 §2.3.1), regardless of the client's authentication method,
    /// for servers that read them only there.
    func authenticate(inForm form: inout FormParameters, _ fields: inout HTTPFields) {
        fields[.authorization] = nil
        for name in ["client_id", "client_secret"] { form.remove(name) }
        form.append("client_id", id)
        form.append("client_secret", authentication.secret?.reveal())
    }
}
