public import AppAuth

extension SignIn {
    /// Creates a sign-in at 7Pass.
    ///
    /// Every property can still be changed: the redirect, the browser, the options. With the scope `offline_access`,
    /// the request has `prompt=consent`, unless another prompt is set.
    ///
    /// - Parameters:
    ///   - configuration: The app's registration at 7Pass. Its parameters are added to the request.
    ///   - appName: The app's name, for the completion page.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the configuration's issuer is invalid.
    public init(_ configuration: SevenPassConfiguration, appName: String, environment: Environment = .live) throws {
        try self.init(
            issuer: Issuer(configuration.issuer), clientID: configuration.clientID,
            clientSecret: configuration.clientSecret,
            scope: configuration.scope, appName: appName, environment: environment)
        options.additionalParameters = configuration.parameters
    }
}
