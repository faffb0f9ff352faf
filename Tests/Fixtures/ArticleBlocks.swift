import Foundation

/// The blocks of code below a heading of an article, as a user would copy them.
///
/// - Parameter places: What stands for the hosts and ports of the article, such as `https://api.example.org`.
package func blocks(
    below heading: String, of article: String, at places: KeyValuePairs<String, String> = [:]
) throws -> [String] {
    let root = URL(filePath: #filePath).appending(path: "../../..").standardized
    let file = root.appending(path: "Sources/AppAuth/AppAuth.docc/Articles/\(article).md")
    let sections = try String(contentsOf: file, encoding: .utf8).split(separator: #/\n##+ /#)
    guard let section = sections.first(where: { $0.hasPrefix(heading + "\n") }) else {
        throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: "\(article): \(heading)"])
    }
    return section.matches(of: /```[a-z]*\n(.*?)```/.dotMatchesNewlines()).map { match in
        places.reduce(String(match.1)) { $0.replacing($1.key, with: $1.value) }
    }
}
