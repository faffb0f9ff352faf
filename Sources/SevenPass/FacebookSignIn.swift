public import AppAuth
internal import Logging

/// A sign-in at 7Pass in which the user may choose Facebook. It uses Facebook's app if the desktop has it.
///
/// ```swift
/// var signIn = try FacebookSignIn(configuration, appName: "My App")
/// signIn.redirect = try configuration.facebook?.redirect(appName: "My App", arguments: ["--redirect"])
/// let state = try await signIn.restoreOrSignIn(store: store)
/// ```
/// Facebook responds to a URL of the scheme `fb<APP_ID>`. With ``redirect``, the app is the desktop's handler for it
/// during the sign-in: the desktop starts the program with the URL, and the program calls
/// ``PrivateUseRedirect/deliver(_:)``. An app that receives these URLs in another way passes them to
/// ``run(store:responses:)``.
///
/// The request contains `fbapp_pres`, with which 7Pass offers Facebook, only if Facebook's responses reach the app.
public struct FacebookSignIn: SignInFlow {
    /// The underlying sign-in.
    public var signIn: SignIn
    /// The client of ``signIn``.
    public var configuration: ClientConfiguration {
        get { signIn.configuration }
        set { signIn.configuration = newValue }
    }
    /// The redirect of Facebook, which ``SevenPassConfiguration/Facebook/redirect(appName:arguments:program:installation:)``
    /// creates. If nil, Facebook's responses come only from ``run(store:responses:)``.
    public var redirect: PrivateUseRedirect?
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
                "expected a configuration with 7Pass’s app at Facebook, found none")
        }
        deliver = try FacebookDelivery(facebook)
        signIn = SignIn(configuration, appName: appName, environment: environment)
    }

    /// Returns the stored session, or signs the user in as ``run(store:responses:)`` does.
    public func restoreOrSignIn(
        store: any TokenStore, responses: some AsyncSequence<String, Never> & Sendable
    ) async throws -> AuthState {
        if let state = try await restore(store: store) { return state }
        return try await run(store: store, responses: responses)
    }

    /// Signs the user in, as ``SignIn/run(store:)`` does.
    ///
    /// If the desktop cannot deliver Facebook's responses, for example because no folder is writable, the reason is
    /// reported by ``observe``, and the user can sign in with a password.
    ///
    /// - Throws: As ``SignIn/run(store:)``; ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the sign-in's
    ///   own redirect has the scheme of ``redirect``.
    public func run(store: any TokenStore) async throws -> AuthState {
        guard let redirect else { return try await signIn.run(store: store) }
        // Facebook's listener takes every URL of its scheme, and so would take the redirect of 7Pass.
        guard signIn.redirect.privateUse?.scheme != redirect.scheme else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected signIn.redirect to have a scheme other than Facebook’s, found \(redirect.scheme) for both")
        }
        let listener: PrivateUseRedirectListener
        do { listener = try await PrivateUseRedirectListener(redirect) } catch let error as AuthError {
            observe(.refused(error))
            return try await signIn.run(store: store)
        }
        defer { listener.close() }
        let (responses, response) = AsyncStream.makeStream(of: String.self)
        return try await withThrowingTaskGroup(of: AuthState?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await run(store: store, responses: responses) }
            // Every URL until the sign-in is over: the user may decline first and then agree.
            group.addTask {
                do { try await listener.redirects { response.yield($0) } } catch let error as AuthError {
                    observe(.refused(error))
                } catch {}
                return nil
            }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    /// Signs the user in, as ``SignIn/run(store:)`` does, with responses that the app receives.
    ///
    /// - Parameter responses: The URLs that the desktop delivers to the app from now on. URLs that are not Facebook's
    ///   are ignored. Each that does not lead on is logged with the reason.
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
            guard case .open(let callback) = step else {
                signIn.environment.logger.notice("a URL for Facebook’s response was dropped: \(step.reason)")
                continue
            }
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
