internal import HTTPTypes

/// The provider's pages: plain HTML that works without a script, for any browser.
struct Pages {
    let context: Context

    /// A page with the provider's look and a policy that lets nothing else in.
    ///
    /// - Parameter target: Where the page's form may lead, beside this provider: browsers hold `form-action` against
    ///   the redirects that follow a form, too.
    /// - Parameter sources: Further sources of that policy.
    /// - Parameter script: What the policy lets run, by its hash.
    /// - Parameter frames: The sources of what the page shows in frames.
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

    /// The origin of a URI as a policy names it; its scheme alone for [::1], which policies cannot name, and for
    /// schemes of apps.
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

    /// What a client's developer has to know; nothing is sent to the client, since its redirect URI is not trusted.
    func refusal(_ reason: String) -> Reply {
        page(
            "The app's request is not acceptable",
            """
            <p>The app that sent you here made a mistake. Nothing was shared with it.</p>
            <p class="box">\(reason)</p>
            """, .badRequest)
    }
}
