public import AppAuth

extension SignIn {
    /// A sign-in at 7Pass. Everything can still be changed: the redirect, the browser, what is asked for. With the scope
    /// `offline_access` it asks with `prompt=consent`, unless another prompt is set.
    ///
    /// - Parameters:
    ///   - configuration: The app as 7Pass knows it. Its parameters go with the request.
    ///   - appName: The app's name, for the page at the end.
    public init(_ configuration: SevenPassConfiguration, appName: String, environment: Environment = .live) {
        self.init(
            issuer: configuration.issuer, clientID: configuration.clientID, clientSecret: configuration.clientSecret,
            scope: configuration.scope, appName: appName, environment: environment)
        options.additionalParameters = configuration.parameters
    }
}
