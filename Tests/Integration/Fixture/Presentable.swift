import Foundation
import Testing

extension Tab {
    /// Checks the last page with windows and letters of every size. If the environment variable `APPAUTH_PICTURES` names a
    /// folder, the page's pictures are put there.
    func isPresentable(
        as name: String, in settings: RealBrowser.Settings, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        struct Look: Decodable { let background: String, card: String, mark: Double, overflow: Double }
        let look = """
            {background: getComputedStyle(document.body).backgroundColor,
             card: getComputedStyle(document.querySelector("main")).backgroundColor,
             mark: document.querySelector("svg").getBoundingClientRect().width,
             overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth}
            """
        for (shape, width, height) in [("wide", 720, 440), ("narrow", 320, 560)] {
            try await resize(width: width, height: height)
            let found = try await evaluate(look, as: Look.self)
            #expect(
                found.background == (settings.isDark ? "rgb(20, 22, 26)" : "rgb(244, 245, 247)"),
                sourceLocation: location)
            #expect(
                found.card == (settings.isDark ? "rgb(30, 33, 38)" : "rgb(255, 255, 255)"), sourceLocation: location)
            #expect(found.mark > 40, sourceLocation: location)
            #expect(found.overflow == 0, "a scroll bar at \(width) px", sourceLocation: location)
            if let folder = ProcessInfo.processInfo.environment["APPAUTH_PICTURES"] {
                let file = "\(name)-\(settings.isDark ? "dark" : "light")-\(shape)-\(settings.kind.rawValue).png"
                try await picture().write(to: URL(filePath: folder).appending(path: file))
            }
        }
        // WCAG 2.2, 1.4.4: letters of twice their size.
        _ = try await evaluate("document.documentElement.style.fontSize = '200%'", as: String.self)
        #expect(
            try await evaluate(look, as: Look.self).overflow == 0, "a scroll bar at 200 %", sourceLocation: location)
        _ = try await evaluate("document.documentElement.style.fontSize = ''", as: String.self)
        try await resize(width: 1000, height: 700)

        let console = await session.events.filter { $0.tab == id && $0.method == "log.entryAdded" }
        #expect(console.map { $0.params.text ?? "" } == [], sourceLocation: location)
    }
}
