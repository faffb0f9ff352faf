internal import AppAuthCore

/// The one page that the listener has: no script, nothing fetched, one style that its hash in the
/// Content-Security-Policy allows.
enum PageTemplate {
    static func html(_ text: CompletionPage.Text, reason: String?, isSuccess: Bool) -> String {
        let reason = reason.map {
            "<p class=\"reason\" dir=\"auto\">\(escaped(String($0.onOneLine.prefix(300))))</p>\n"
        }
        let mark = isSuccess ? "M7 12.5l3.5 3.5L17 9" : "M12 7v6M12 16.5v.5"
        return """
            <!DOCTYPE html>
            <html lang="\(escaped(text.language))">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <title>\(escaped(text.title))</title>
            <style>\(style)</style>
            </head>
            <body>
            <main class="\(isSuccess ? "success" : "failure")">
            <svg viewBox="0 0 24 24" width="56" height="56" aria-hidden="true"><circle cx="12" cy="12" r="11"/>\
            <path d="\(mark)"/></svg>
            <h1>\(escaped(text.heading))</h1>
            <p>\(escaped(text.message))</p>
            \(reason ?? "")</main>
            </body>
            </html>

            """
    }

    static let style = """
        :root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--line:#e3e5e9;--text:#1b1f24;--soft:#57606a;\
        --good:#1a7f45;--bad:#b54708}
        @media (prefers-color-scheme:dark){:root{--page:#14161a;--card:#1e2126;--line:#31353c;--text:#f0f2f5;\
        --soft:#a4adb8;--good:#4cc27e;--bad:#f0a35e}}
        *{box-sizing:border-box;margin:0}
        body{min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.25rem;background:var(--page);\
        color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Cantarell,sans-serif}
        main{width:100%;max-width:27rem;padding:2.5rem 2rem;background:var(--card);border:1px solid var(--line);\
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

    /// The text as it may stand between tags and in quoted attributes.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { html, scalar in
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(scalar)
            }
        }
    }
}

extension CompletionPage {
    /// The page for whoever sent a request, in the language that its browser prefers.
    package func html(for head: RequestHead) -> String {
        let wanted = head["accept-language"].flatMap { AcceptLanguage.best(of: texts.map(\.language), for: $0) }
        guard let text = texts.first(where: { $0.language == wanted }) ?? texts.first else { return "" }
        return PageTemplate.html(text, reason: reason, isSuccess: isSuccess)
    }
}
