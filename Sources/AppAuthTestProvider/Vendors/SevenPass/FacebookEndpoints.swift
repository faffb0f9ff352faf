internal import HTTPTypes

/// The double's Facebook over HTTP.
///
/// - `/facebook/dialog`: the web dialog. Its button leads to `fb<APP_ID>://authorize?code=…&state=…`.
/// - `/facebook/app`: simulates the app. It takes the query of the `fbauth2` URL, and redirects to
///   `fb<APP_ID>://authorize#code=…&state=…`.
struct FacebookEndpoints {
    let context: Context
    let facebook: Facebook
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request, at endpoint: Endpoint) -> Reply {
        switch (endpoint, request.method) {
        case (.facebookApp, .get): return lead(request.query, .native)
        case (.facebookApp, _): return .notAllowed("GET")
        case (_, .get): return dialog(request.query)
        case (_, .post):
            guard let form = request.form else { return pages.error("Expected a form.", .badRequest) }
            return lead(form, .web)
        default: return .notAllowed("GET, POST")
        }
    }

    private func dialog(_ query: Parameters) -> Reply {
        let fields = HTML(
            joining: query.entries.map { #"<input type="hidden" name="\#($0.name)" value="\#($0.value)">"# })
        let content: HTML = """
            <p class="soft">This plays Facebook, for a sign-in at 7Pass.</p>
            <form method="post" action="\(context.origin(of: .external) + "/facebook/dialog")">
            \(fields)
            <button class="main" type="submit">Continue as \(facebook.person(context)?.name ?? "")</button>
            </form>
            """
        return pages.page("Facebook", content, target: facebook.redirectURI)
    }

    private func lead(_ question: Parameters, _ way: Facebook.Way) -> Reply {
        do {
            return .redirect(to: try facebook.respond(to: question, way, context.now))
        } catch {
            return pages.refusal("\(error)")
        }
    }
}
