public import AppAuth

/// A sign-in at 7Pass in which the person may choose Facebook, with Facebook's app if the desktop has it.
///
/// ```swift
/// let signIn = try FacebookSignIn(configuration, appName: "My App")
/// let state = try await signIn.run(store: store, answers: urlsFromTheDesktop)
/// ```
/// Facebook answers to a URL of the scheme `fb<APP_ID>`. The app has to be the desktop's handler for it (a desktop entry
/// with `x-scheme-handler/fb<APP_ID>`), and brings here what it is given. Who signs in with a password needs none of it.
public struct FacebookSignIn: Sendable {
    /// The sign-in itself.
    public var signIn: SignIn
    /// Where it is asked whether Facebook's app is there.
    public var desktop = DesktopHandlers.system
    /// Told about each response of Facebook's.
    public var observe: @Sendable (FacebookDelivery.Step) -> Void = { _ in }
    private let deliver: FacebookDelivery

    /// The scheme that Facebook's app handles.
    public static let appScheme = "fbauth2"

    /// Describes a sign-in.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the configuration names no app at Facebook,
    ///   or one that ``FacebookDelivery`` does not take.
    public init(_ configuration: SevenPassConfiguration, appName: String, environment: Environment = .live) throws {
        guard let facebook = configuration.facebook else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a configuration with 7Pass's app at Facebook, found none",
                outcome: .notSent)
        }
        deliver = try FacebookDelivery(facebook)
        signIn = SignIn(configuration, appName: appName, environment: environment)
    }

    /// Signs the person in, as ``SignIn/run(store:)`` does.
    ///
    /// - Parameter answers: The URLs that the desktop hands to the app from now on; others are passed over.
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

    /// The sign-in with `fbapp_pres`, unless the app says that by itself.
    private func announced() async -> SignIn {
        var signIn = signIn
        guard !signIn.options.additionalParameters.contains(where: { $0.name == "fbapp_pres" }) else { return signIn }
        let isPresent = await desktop.handles(scheme: Self.appScheme)
        signIn.options.additionalParameters.append(.init("fbapp_pres", isPresent ? "1" : "0"))
        return signIn
    }

    /// The browser gets a one-time URL: Facebook's code and state belong in no argument list.
    private func pass(
        _ responses: some AsyncSequence<String, Never>, to browser: Browser?, by opener: LoopbackRedirectListener
    ) async {
        var deliver = deliver
        for await url in responses {
            let step = deliver.take(url)
            observe(step)
            guard case .open(let callback) = step else { continue }
            // The person may open it by hand, or begin again: the sign-in waits on.
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
