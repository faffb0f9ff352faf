/// What the listener itself has to say to a person. It does not know the app's name, nor who sent the person.
extension CompletionPage {
    /// For a redirect that is not the awaited one, while that is still awaited.
    static let foreignRedirect = CompletionPage(
        texts: [
            Text(
                language: "en", title: "Not this sign-in", heading: "This page does not belong to the current sign-in",
                message: "Nothing was changed. If you are signing in, continue in the page that was opened last."),
            Text(
                language: "de", title: "Andere Anmeldung", heading: "Diese Seite gehört nicht zur laufenden Anmeldung",
                message: "Es wurde nichts geändert. Wenn Sie sich gerade anmelden, fahren Sie auf der Seite fort, "
                    + "die zuletzt geöffnet wurde."),
        ], isSuccess: false)

    /// For a redirect after the awaited one, that one once more included.
    static let usedRedirect = CompletionPage(
        texts: [
            Text(
                language: "en", title: "Already used", heading: "This sign-in was already used",
                message: "The app has its answer, and this page changes nothing. Go back to the app."),
            Text(
                language: "de", title: "Bereits verwendet", heading: "Diese Anmeldung wurde bereits verwendet",
                message: "Die App hat ihre Antwort, und diese Seite ändert nichts. Kehren Sie zur App zurück."),
        ], isSuccess: false)

    /// For a one-time URL that was opened before.
    static let usedLink = CompletionPage(
        texts: [
            Text(
                language: "en", title: "Already used", heading: "This link was already used",
                message: "It opens once. Go back to the app to start again."),
            Text(
                language: "de", title: "Bereits verwendet", heading: "Dieser Link wurde bereits verwendet",
                message: "Er lässt sich nur einmal öffnen. Kehren Sie zur App zurück, um neu zu beginnen."),
        ], isSuccess: false)
}
