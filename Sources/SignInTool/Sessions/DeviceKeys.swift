internal import AppAuth
internal import AppAuthConcurrency

/// The client keys that `--client-key` names, and the PINs of devices.
enum DeviceKeys {
    private struct State {
        var flights: [String: SingleFlight<ClientKey>] = [:]
        /// Keys that were opened with a PIN, by their names.
        var opened: [String: ClientKey] = [:]
        /// The devices that have got a PIN.
        var devices: Set<String> = []
    }
    private static let state = LockedValue(State())

    /// Opens the key of a URI, or reads a key from a file.
    static func open(_ name: String, _ console: Console) async throws -> ClientKey {
        guard ClientKey.isURI(name) else { return try await OwnThread().run { try ClientKey(file: name) } }
        let flight = state.withLock { state in
            let flight = state.flights[name] ?? SingleFlight()
            state.flights[name] = flight
            return flight
        }
        return try await flight.run {
            if let key = state.withLock({ $0.opened[name] }) { return key }
            let key: ClientKey
            if name.hasPrefix("handle:"), variable(pinVariable) != nil {
                // A TPM asks for a PIN only where the URI says so.
                let pin = try await pin(of: name, console)
                key = try await OwnThread().run { try ClientKey(uri: name, pin: pin) }
            } else {
                key = try await ClientKey(uri: name) { try await pin(of: name, console) }
            }
            state.withLock { state in
                if state.devices.contains(device(of: name)) { state.opened[name] = key }
            }
            return key
        }
    }

    /// Returns the PIN of a device: that in the file which `SIGN_IN_KEY_PIN_FILE` names, or what the user types.
    static func pin(of uri: String, _ console: Console) async throws -> Secret {
        let device = device(of: uri)
        let isFirst = state.withLock { $0.devices.insert(device).inserted }
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, message)
        }
        if let path = variable(pinVariable) {
            guard isFirst else {
                throw refusal(
                    "\(device.foundText) asks for its PIN again: \(pinVariable) has a wrong one, or the device was away. "
                        + "A command gives a PIN only once, because devices lock themselves after a few wrong ones")
            }
            return try SecretFile.read(path, of: pinVariable)
        }
        guard let input = console.input, console.canAsk, input.discardTyped(),
            console.show("\(device.foundText) asks for its PIN. Type it (it stays hidden) and press Enter.")
        else {
            throw refusal(
                "\(device.foundText) asks for its PIN. Write it to a file, and set \(pinVariable) to its path")
        }
        for try await line in InputLines.stream(from: input, { _ in }) where !line.isEmpty { return Secret(line) }
        throw refusal("\(device.foundText) asks for its PIN, and got none")
    }

    /// The URI without the name of the key: the login to a token is for all its keys.
    private static func device(of uri: String) -> String {
        uri.split(separator: ";").filter { part in !["object=", "id=", "type="].contains(where: part.hasPrefix) }
            .joined(separator: ";")
    }

    private static let pinVariable = "SIGN_IN_KEY_PIN_FILE"
}
