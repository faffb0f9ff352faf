internal import HTTPTypes

/// The provider's pages: plain HTML for any browser, which works without scripts.
struct Pages {
    let context: Context

    /// A page with the provider's style, and a policy that allows no other content.
    ///
    /// - Parameter target: The URL to which the page's form may lead, besides this provider: browsers also apply
    ///   `form-action` to the redirects that follow a form.
    /// - Parameter sources: Further sources of `form-action`.
    /// - Parameter script: The hash of the script that the policy allows.
    /// - Parameter frames: The sources of the page's frames.
    func page(
        _ title: String, _ content: HTML, language: Language = .en, target: String? = nil, sources: [String] = [],
        script: String? = nil, frames: [String] = [], _ status: HTTPResponse.Status = .ok
    ) -> Reply {
        let html: HTML = """
            <!doctype html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title)</title>
            <link rel="icon" href="data:,">
            <style>\(HTML(stringLiteral: Style.sheet))</style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(content)
            </main>
            <footer>\(Phrases(language).footer)</footer>
            </body>
            </html>

            """
        var reply = Reply(status, type: "text/html; charset=utf-8", html.description)
        let policy = [
            "default-src 'none'", "style-src \(Style.source)", "img-src data:", "base-uri 'none'",
            "frame-ancestors 'none'",
            (["form-action 'self'"] + (target.map { [Self.source(of: $0)] } ?? []) + sources).joined(separator: " "),
        ]
        let scripts =
            (script.map { ["script-src \($0)"] } ?? [])
            + (frames.isEmpty ? [] : ["frame-src \(frames.joined(separator: " "))"])
        reply.headers[.contentSecurityPolicy] = (policy + scripts).joined(separator: "; ")
        reply.headers[.cacheControl] = "no-store"
        reply.headers[.frameOptions] = "DENY"
        reply.headers[.referrerPolicy] = "no-referrer"
        reply.headers[.xContentTypeOptions] = "nosniff"
        return reply
    }

    /// Returns the origin of a URI for a policy. For [::1], which policies cannot express, and for the schemes of apps,
    /// it is only the scheme.
    static func source(of uri: String) -> String {
        let scheme = uri.prefix { $0 != ":" }
        let rest = uri.dropFirst(scheme.count + 1)
        guard scheme == "http" || scheme == "https", rest.hasPrefix("//"), !rest.hasPrefix("//[") else {
            return scheme + ":"
        }
        return scheme + "://" + rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
    }

    func error(_ message: String, _ status: HTTPResponse.Status) -> Reply {
        page("That did not work", "<p>\(message)</p>", status)
    }

    /// The error page for the client's developer. The client gets no response, since its redirect URI is not trusted.
    func refusal(_ reason: String) -> Reply {
        page(
            "The app's request is not acceptable",
            """
            <p>The app that sent you here made a mistake. Nothing was shared with it.</p>
            <p class="box">\(reason)</p>
            """, .badRequest)
    }
}
