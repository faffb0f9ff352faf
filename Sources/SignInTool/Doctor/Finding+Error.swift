internal import AppAuth

extension Finding {
    /// Creates the finding for an error of a check.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - otherwise: The name if the error says no more than that the check has failed.
    init(_ error: AuthError, otherwise: Name) {
        let name =
            error.storeProblem.flatMap(Name.init) ?? error.connectionProblem.map(Name.init) ?? Name(error) ?? otherwise
        self.init(name, error.message)
    }
}

extension Finding.Name {
    fileprivate init?(_ problem: StoreProblem) {
        switch problem {
        case .noLibrary, .noBus, .noService: self = .keyringAbsent
        case .locked, .dismissed, .unanswered, .unavailable: self = .keyringLocked
        case .damaged: self = .storeDamaged
        case .encryption, .notEncrypted: self = .passphraseMissing
        default: return nil
        }
    }

    fileprivate init(_ problem: ConnectionProblem) {
        self =
            switch problem {
            case .nameUnresolved: .nameUnresolved
            case .unreachable: .unreachable
            case .proxy: .proxyUnusable
            case .proxyAuthentication: .proxyRefusesUser
            case .tls, .certificate: .tlsUnusable
            case .untrustedRoot: .caMissing
            case .certificateDate: .certificateDate
            case .certificateHost: .certificateHost
            case .roots: .caFileUnusable
            case .otherUser: .otherUsersServer
            }
    }

    fileprivate init?(_ error: AuthError) {
        switch error.code {
        case .unavailable: self = .libraryMissing
        case .listener: self = .portBusy
        case .issuerMismatch: self = .issuerMismatch
        case .transport, .timeout: self = .unreachable
        case _ where error.isTemporary && error.httpStatus != nil: self = .endpointFailing
        default: return nil
        }
    }
}
