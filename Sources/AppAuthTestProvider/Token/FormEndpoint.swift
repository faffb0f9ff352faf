internal import HTTPTypes

/// The common behaviour of the endpoints to which clients POST forms (RFC 6749 §3.2, RFC 7009 §2.1, RFC 7662 §2.1).
struct FormEndpoint {
    let context: Context

    /// Checks the request and the client, and turns failures into responses (RFC 6749 §5.2).
    func respond(
        to request: Request, _ body: (Parameters, RegisteredClient) throws -> Reply
    ) throws -> Reply {
        guard request.method == .post else { return .notAllowed("POST") }
        do {
            let form = try form(request)
            return try body(form, ClientAuthentication(context: context).client(request, form)).notStored
        } catch let failure as OAuthFailure {
            return failure.reply
        }
    }

    private func form(_ request: Request) throws(OAuthFailure) -> Parameters {
        do throws(FormProblem) {
            return try request.plainForm()
        } catch {
            throw .invalidRequest(error.reason)
        }
    }
}
