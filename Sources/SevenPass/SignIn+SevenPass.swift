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
    public init(_ configuration: SevenPassConfiguration, appName: String, environment: Environment = .live) {
        self.init(configuration.client(environment), appName: appName)
        options.additionalParameters = configuration.parameters
    }
}
