public import AppAuth

/// A sign-in at 7Pass in which the user may choose Facebook. It uses Facebook's app if the desktop has it.
///
/// ```swift
/// let signIn = try FacebookSignIn(configuration, appName: "My App")
/// let state = try await signIn.run(store: store, responses: urlsFromTheDesktop)
/// ```
/// Facebook responds to a URL of the scheme `fb<APP_ID>`. The app must be the desktop's handler for that scheme (a
/// desktop entry with `x-scheme-handler/fb<APP_ID>`), and passes the URLs that it receives to
/// ``run(store:responses:)``. A user who signs in with a password needs none of this.
public struct FacebookSignIn: Sendable {
    /// The underlying sign-in.
    public var signIn: SignIn
    /// The query for whether Facebook's app is installed.
    public var desktop = DesktopHandlers.system
    /// Called with the next step for each URL that the desktop delivers, even if it is ignored.
    public var observe: @Sendable (FacebookDelivery.Step) -> Void = { _ in }
    private let deliver: FacebookDelivery

    /// The scheme that Facebook's app handles.
    public static let appScheme = "fbauth2"

    /// Creates a sign-in.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the configuration has no app at
    ///   Facebook, or one that ``FacebookDelivery`` does not accept.
    public init(_ configuration: SevenPassConfiguration, appName: String, environment: Environment = .live) throws {
        guard let facebook = configuration.facebook else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a configuration with 7Pass's app at Facebook, found none",
                outcome: .notSent)
        }
        deliver = try FacebookDelivery(facebook)
        signIn = try SignIn(configuration, appName: appName, environment: environment)
    }

    /// Signs the user in, as ``SignIn/run(store:)`` does.
    ///
    /// - Parameter responses: The URLs that the desktop delivers to the app from now on. URLs that are not Facebook's
    ///   are ignored.
    /// - Throws: As ``SignIn/run(store:)``.
    public func run(
        store: any TokenStore, responses: some AsyncSequence<String, Never> & Sendable
    ) async throws -> AuthState {
        let signIn = await announced()
        let opener = try LoopbackRedirectListener(
            path: nil, sameUser: signIn.redirect.sameUser,
            pages: signIn.pages ?? CompletionPages(appName: signIn.appName))
        defer { opener.close() }
        return try await withThrowingTaskGroup(of: AuthState?.self) { group in
            group.addTask { try await signIn.run(store: store) }
            group.addTask {
                await pass(responses, to: signIn.browser, by: opener)
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    /// Returns the sign-in with the parameter `fbapp_pres`, unless the app has set it.
    private func announced() async -> SignIn {
        var signIn = signIn
        guard !signIn.options.additionalParameters.contains(where: { $0.name == "fbapp_pres" }) else { return signIn }
        let isPresent = await desktop.handles(scheme: Self.appScheme)
        signIn.options.additionalParameters.append(.init("fbapp_pres", isPresent ? "1" : "0"))
        return signIn
    }

    /// Opens a one-time URL for each response: Facebook's code and state must not be in an argument list.
    private func pass(
        _ responses: some AsyncSequence<String, Never>, to browser: Browser?, by opener: LoopbackRedirectListener
    ) async {
        var deliver = deliver
        for await url in responses {
            let step = deliver.take(url)
            observe(step)
            guard case .open(let callback) = step else { continue }
            // An error does not end the sign-in: the user may open the URL by hand, or begin again.
            do {
                let url = opener.oneTimeURL(redirectingTo: callback)
                for obstacle in try await browser?.open(url) ?? [] { signIn.observe(.browserObstacle(obstacle)) }
            } catch let error as AuthError {
                signIn.observe(.withoutBrowser(error, canUseDevice: false))
            } catch {
                return
            }
        }
    }
}
