internal import JOSE

extension String {
    /// A URL for people: every character is percent-encoded that is neither unreserved (RFC 3986 §2.3)
    /// nor a delimiter that a URL needs. So is the first one of a parameter that a shell would run as a command.
    ///
    /// Users paste URLs into command lines, with or without quotes. What a shell then sees beside words is the `&`
    /// between parameters, and after it `name=value`. That is an assignment, which ends at the next `&`; so the last parameter
    /// is encoded too. Empty parameters are left out, since a shell runs what stands before `&&` itself.
    package var shownURL: String { shownURL(endsWithOurs: false).quotedAgainstJobs }

    /// A URL of these forms, in single quotes if a shell would take a parameter for a job, and resume it: `%01` means `fg %1`,
    /// and `%ca` the job whose command begins with `ca`. No process has 40 jobs.
    package var quotedAgainstJobs: String {
        contains(/&%([0-3][0-9]|40|[0-9A-Fa-f][A-Fa-f]|[A-Fa-f][0-9])/) ? "'" + self + "'" : self
    }

    /// As ``shownURL``, for a URL whose last parameter is this library's or the app's: it stays as it is.
    package var shownRequestURL: String { shownURL(endsWithOurs: true) }

    /// A URL for an opener. Some pass it on to a shell: wslview puts it between double quotes for PowerShell, which would run
    /// `$(…)`. There, the delimiters of a URL do no harm.
    package var openedURL: String { encoded(but: "-._~:/?#[]@&=+;,", hasEscapes: utf8.escapesAreComplete) }

    private func shownURL(endsWithOurs: Bool) -> String {
        let hasEscapes = utf8.escapesAreComplete
        let parts = split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let place = parts[0].encoded(but: "-._~:/[]@=+,#", hasEscapes: hasEscapes)
        guard parts.count > 1 else { return place }
        var parameters = parts[1].split(separator: "&")
            .map { String($0).encoded(but: "-._~:/?#[]@=+,", hasEscapes: hasEscapes) }
        for index in parameters.indices.dropFirst() {
            let isLast = index == parameters.count - 1
            if parameters[index].beginsAssignment, !isLast || endsWithOurs { continue }
            guard let first = parameters[index].first, first != "%" else { continue }
            parameters[index] = String(first).percentEncoded { _ in false } + parameters[index].dropFirst()
        }
        return place + "?" + parameters.joined(separator: "&")
    }

    private func encoded(but kept: String, hasEscapes: Bool) -> String {
        percentEncoded {
            $0.isASCIIAlphanumeric || kept.utf8.contains($0) || hasEscapes && $0 == UInt8(ascii: "%")
        }
    }

    /// Whether a shell takes it for the assignment of a variable.
    private var beginsAssignment: Bool {
        let name = prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return name.first.map { !$0.isNumber } ?? false && dropFirst(name.count).hasPrefix("=")
    }
}
