internal import AppAuth

extension Console {
    /// - Parameter limit: The time limit of the command. Waiting for a lock ends before it, so that the error can name
    ///   the lock's holder.
    init(
        _ command: any Command, arguments: [String], line: SignInLine, input: StandardInput, limit: Duration
    ) {
        let options = command.common
        // Many firewalls, and the API of GitHub, refuse requests without one.
        var configuration = CurlTransport.Configuration(userAgent: ProgramVersion.userAgent)
        configuration.additionalRoots = options.caFile.map { [$0] } ?? []
        configuration.proxyAuthentication = options.proxyAuthentication ?? .basic
        configuration.patience = options.timeout?.duration ?? .zero
        var environment = Environment.live
        environment.transport = CurlTransport(configuration)
        environment.lockPatience.limit = min(environment.lockPatience.limit, limit.forWaits)
        if options.explain { environment.explain() }
        let asking = Console(json: command.json, input: input)
        let isNamed = SignInLine(arguments).value(of: "--client-assertion-file") != nil
        environment.clientAssertion = { [read = environment.clientAssertion] path in
            // What another user has put there would be sent to the provider.
            guard isNamed || !OwnPlace.isPlanted(path) else { throw AuthError.planted(path) }
            return try await read(path)
        }
        environment.clientKey = { name in try await DeviceKeys.open(name, asking) }
        environment.keyPIN = { uri in try await DeviceKeys.pin(of: uri, asking) }
        environment.grantAssertion = { [environment] demand in
            guard let source = Profile(assertionName: demand.name) else {
                return try await environment.grantAssertion(demand)
            }
            return try await source.identityAssertion(for: demand, environment)
        }
        self.init(
            json: command.json, isVerbose: options.verbose, isExplaining: options.explain, arguments: arguments,
            line: line, input: input, environment: environment, wordsOfNetwork: options.wordsOfNetwork)
    }
}
