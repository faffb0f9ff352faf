internal import AppAuth

extension CompletionPages {
    /// The library's pages, which send the user back to the terminal.
    static var terminal: CompletionPages {
        var result = CompletionPages(appName: "sign-in")
        let pages: [WritableKeyPath<CompletionPages, CompletionPage>] = [
            \.signedIn, \.failed, \.signedOut, \.usedRedirect, \.usedLink,
        ]
        for page in pages {
            for index in result[keyPath: page].texts.indices {
                let message = result[keyPath: page].texts[index].message
                result[keyPath: page].texts[index].message =
                    message
                    .replacing("go back to sign-in", with: "go back to the terminal")
                    .replacing("Go back to sign-in", with: "Go back to the terminal")
                    .replacing("zu sign-in", with: "zum Terminal")
            }
        }
        return result
    }
}
