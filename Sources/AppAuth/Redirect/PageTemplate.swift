internal import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE

/// The HTML template of the listener's pages. It has no script and loads nothing; the Content-Security-Policy allows
/// its only style by hash.
package struct PageTemplate: Sendable {
    private let style: String
    private let colors: CompletionPages.Palette
    /// The Content-Security-Policy directives that the page needs.
    private let policy: String

    package init(light: CompletionPages.Palette = .light, dark: CompletionPages.Palette = .dark) {
        style = Self.style(light, dark)
        colors = light
        policy = "style-src 'sha256-\(Data(Digest.sha256.hash(style)).base64EncodedString())'; img-src data:"
    }

    /// Returns the page in the language that the browser prefers.
    package func response(_ status: Int, _ page: CompletionPage, for head: RequestHead) -> RedirectResponse {
        switch page.replacement {
        case .html(let html):
            return RedirectResponse(status: status, body: html, policy: "style-src 'unsafe-inline'; img-src data:")
        case .url(let url): return .seeOther(url)
        case nil:
            let wanted = head["accept-language"].flatMap {
                AcceptLanguage.best(of: page.texts.map(\.language), for: $0)
            }
            let text = page.texts.first { $0.language == wanted } ?? page.texts.first
            let body = text.map { html($0, reason: page.reason, isSuccess: page.isSuccess) } ?? ""
            return RedirectResponse(status: status, body: body, policy: policy)
        }
    }

    private func html(_ text: CompletionPage.Text, reason: String?, isSuccess: Bool) -> String {
        let reason = reason.map {
            "<p class=\"reason\" lang=\"\" dir=\"auto\">\($0.onOneLine.escapedForHTML)</p>\n"
        }
        let mark = isSuccess ? "M7 12.5l3.5 3.5L17 9" : "M12 7v6M12 16.5v.5"
        return """
            <!DOCTYPE html>
            <html lang="\(text.language.escapedForHTML)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <title>\(text.title.escapedForHTML)</title>
            <link rel="icon" href="\(icon(mark, isSuccess ? colors.success : colors.failure))">
            <style>\(style)</style>
            </head>
            <body>
            <main class="\(isSuccess ? "success" : "failure")">
            <svg viewBox="0 0 24 24" width="56" height="56" aria-hidden="true"><circle cx="12" cy="12" r="11"/>\
            <path d="\(mark)"/></svg>
            <h1>\(text.heading.escapedForHTML)</h1>
            <p>\(text.message.escapedForHTML)</p>
            \(reason ?? "")</main>
            </body>
            </html>

            """
    }

    /// Returns the icon for the tab. Without it, the browser would request /favicon.ico, which the policy forbids, and
    /// log an error in its console.
    private func icon(_ mark: String, _ color: CompletionPages.Color) -> String {
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E"
            + "%3Ccircle cx='12' cy='12' r='12' fill='%23\(color.css.dropFirst())'/%3E"
            + "%3Cpath d='" + mark + "' fill='none' stroke='%23fff' stroke-width='2.5' stroke-linecap='round' "
            + "stroke-linejoin='round'/%3E%3C/svg%3E"
    }

    private static func style(_ light: CompletionPages.Palette, _ dark: CompletionPages.Palette) -> String {
        """
        :root{color-scheme:light dark;\(variables(light))}
        @media (prefers-color-scheme:dark){:root{\(variables(dark))}}
        *{box-sizing:border-box;margin:0}
        body{min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.25rem;background:var(--page);\
        color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Cantarell,sans-serif}
        main{width:100%;max-width:27rem;padding:clamp(1.5rem,8vw,2.5rem) clamp(1rem,6vw,2rem);background:var(--card);border:1px solid var(--line);\
        border-radius:1rem;text-align:center;overflow-wrap:anywhere}
        svg{display:block;margin:0 auto 1.25rem;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;\
        stroke-linejoin:round}
        .success svg{color:var(--good)}
        .failure svg{color:var(--bad)}
        h1{font-size:1.4rem;line-height:1.25;font-weight:600;margin-bottom:.6rem;text-wrap:balance}
        p{color:var(--soft);text-wrap:balance}
        .reason{margin-top:1.25rem;padding:.75rem 1rem;background:var(--page);border-radius:.6rem;font-size:.9rem;\
        color:var(--text)}
        """
    }

    private static func variables(_ palette: CompletionPages.Palette) -> String {
        let colors = [
            ("page", palette.background), ("card", palette.card), ("line", palette.border), ("text", palette.text),
            ("soft", palette.secondaryText), ("good", palette.success), ("bad", palette.failure),
        ]
        return colors.map { "--\($0):\($1.css)" }.joined(separator: ";")
    }
}

extension String {
    /// The text for use between tags and in quoted attributes.
    package var escapedForHTML: String {
        replacing { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "'": "&#39;"
            default: nil
            }
        }
    }
}
