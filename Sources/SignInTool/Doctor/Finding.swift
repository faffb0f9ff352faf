internal import AppAuth
internal import JOSE

/// Something that `sign-in doctor` has found: what was seen, and what to do.
struct Finding: Sendable, Hashable {
    let name: Name
    /// What was seen, in one line without a full stop.
    private(set) var seen: String
    /// What to do, in sentences.
    let remedy: String
    /// The command line that does it, if there is one.
    let command: String?
    /// Whether a sign-in works nevertheless.
    private(set) var isWarning: Bool

    /// - Parameters:
    ///   - remedy: What to do; nil for what the name says.
    ///   - command: The command line that does it.
    ///   - isWarning: Whether a sign-in works nevertheless; nil for what the name says.
    init(_ name: Name, _ seen: String, remedy: String? = nil, command: String? = nil, isWarning: Bool? = nil) {
        (self.name, self.seen, self.command) = (name, seen, command)
        (self.remedy, self.isWarning) = (remedy ?? name.remedy, isWarning ?? name.isUsuallyHarmless)
    }

    /// Adds what another finding of the same name has seen.
    mutating func merge(_ other: Finding) {
        if !seen.contains(other.seen) { seen += "; \(other.seen)" }
        isWarning = isWarning && other.isWarning
    }

    var json: JSON {
        [
            "name": .string(name.rawValue), "severity": isWarning ? "warning" : "failure", "seen": .string(seen),
            "remedy": .string(command.map { "\(remedy) \($0)" } ?? remedy),
        ]
    }

    /// The names, which do not change. Scripts and people who ask for help rely on them.
    enum Name: String, Sendable, Hashable {
        // This computer.
        case libraryMissing = "library-missing"
        case storeUnusable = "store-unusable"
        case storeDamaged = "store-damaged"
        case passphraseMissing = "passphrase-missing"
        case keyringAbsent = "keyring-absent"
        case keyringLocked = "keyring-locked"
        case browserMissing = "browser-missing"
        case browserObstacle = "browser-obstacle"
        case portBusy = "port-busy"
        case loopbackBlocked = "loopback-blocked"
        case otherUsers = "other-users-can-connect"
        case clockOff = "clock-off"
        // The way to the server.
        case nameUnresolved = "name-unresolved"
        case unreachable = "server-unreachable"
        case proxyUnusable = "proxy-unusable"
        case proxyRefusesUser = "proxy-refuses-user"
        case tlsUnusable = "tls-unusable"
        case caMissing = "ca-missing"
        case caFileUnusable = "ca-file-unusable"
        case certificateDate = "certificate-date"
        case certificateHost = "certificate-host"
        case otherUsersServer = "server-of-another-user"
        // The provider.
        case issuerInvalid = "issuer-invalid"
        case issuerMismatch = "issuer-mismatch"
        case metadataMissing = "metadata-missing"
        case metadataInvalid = "metadata-invalid"
        case endpointMissing = "endpoint-missing"
        case endpointFailing = "endpoint-failing"
        case keysUnusable = "keys-unusable"
        case pkceUnsupported = "pkce-unsupported"
        // The client and what it requests.
        case clientUnknown = "client-unknown"
        case clientNotAllowed = "client-not-allowed"
        case clientConfiguration = "client-configuration"
        case secretMissing = "client-secret-missing"
        case secretWrong = "client-secret-wrong"
        case redirectUnregistered = "redirect-uri-unregistered"
        case requestRefused = "request-refused"
        case scopeRefused = "scope-refused"
        case scopeUnlisted = "scope-unlisted"
        case dpopUnlisted = "dpop-unlisted"
        case keyUnusable = "key-unusable"
        // The session.
        case sessionOver = "session-over"
        case scopeNotGranted = "scope-not-granted"
        case noRefreshToken = "no-refresh-token"
        case refreshFailing = "refresh-failing"
    }
}

extension Finding.Name {
    fileprivate var isUsuallyHarmless: Bool {
        switch self {
        case .browserMissing, .browserObstacle, .otherUsers, .scopeUnlisted, .dpopUnlisted, .scopeNotGranted,
            .noRefreshToken, .refreshFailing:
            true
        default: false
        }
    }

    fileprivate var remedy: String {
        switch self {
        case .libraryMissing: "Install the package that is named."
        case .storeUnusable: "Make the folder writable for this user, or name a file elsewhere with --store file:PATH."
        case .storeDamaged: "Set the session aside, and sign in again."
        case .passphraseMissing: "Set SIGN_IN_PASSPHRASE_FILE to the path of a file with the passphrase."
        case .keyringAbsent:
            "Start a keyring service in this session, such as GNOME Keyring, or use --store file:PATH or "
                + "--store encrypted:PATH."
        case .keyringLocked: "Unlock the keyring, or sign in where its question can be answered."
        case .browserMissing:
            "Set BROWSER to the command of a browser, open the URL in a browser yourself (sign-in login --no-browser), or "
                + "sign in with another device (sign-in device)."
        case .browserObstacle: "If the browser does not come back, use sign-in device."
        case .portBusy:
            "End the program that has the port (ss -ltnp shows it), or name further registered ports with --redirect-port."
        case .loopbackBlocked:
            "Bring up the loopback interface (ip link set lo up), and let the firewall pass 127.0.0.1 and ::1."
        case .otherUsers: "If other people use this computer, sign in where this check is possible."
        case .clockOff: "Set this computer’s clock (timedatectl set-ntp true)."
        case .nameUnresolved:
            "Check the spelling of the host, the network, the VPN and the name server (resolvectl status)."
        case .unreachable: "Check the host and the port, the network, the VPN and the firewall."
        case .proxyUnusable: "Check https_proxy and all_proxy. no_proxy lists the hosts that need no proxy."
        case .proxyRefusesUser:
            "Check the name and password in the proxy’s URL. If it requires another method, use --proxy-auth digest, ntlm "
                + "or negotiate."
        case .tlsUnusable:
            "Check that the server speaks https at this port, with TLS 1.2 or newer, and that no program on the way "
                + "intercepts it."
        case .caMissing:
            "Name the root certificate of the server, or of the proxy that inspects TLS, with --ca-file PEM. For all "
                + "programs: add it to the system’s (update-ca-certificates)."
        case .caFileUnusable:
            "Correct --ca-file, or the variable CURL_CA_BUNDLE, SSL_CERT_FILE or SSL_CERT_DIR that is named."
        case .certificateDate:
            "If this computer’s clock is wrong, set it (timedatectl). Otherwise, the server needs a new certificate."
        case .certificateHost: "Use the host name that is in the certificate. The provider’s documentation has it."
        case .otherUsersServer: "Run the server as this user, or let it use https."
        case .issuerInvalid: "Use the provider’s issuer as its documentation has it: https://HOST, often with a path."
        case .issuerMismatch:
            "If you trust the provider, name it as it calls itself: the host, the port and a slash at the end count."
        case .metadataMissing:
            "Check the issuer. If the metadata is elsewhere, name its URL with --metadata-url. A provider without any needs "
                + "--authorization-endpoint and --token-endpoint. If a page was found, log on to the network first."
        case .metadataInvalid, .keysUnusable, .pkceUnsupported: "Report this to the provider: its metadata is wrong."
        case .endpointMissing:
            "Check that the issuer is right. If the provider has no OpenID Connect, use --scope without openid."
        case .endpointFailing: "Try again later, or look at the provider’s status page."
        case .clientUnknown: "Compare --client-id with the one that the provider shows for your app."
        case .clientNotAllowed:
            "At the provider, allow the client the authorization code flow, and if it is for apps without a secret, "
                + "register it as a public one."
        case .clientConfiguration: "Correct the option that is named."
        case .secretMissing: "Write the client’s secret to a file, and name it with --client-secret-file."
        case .secretWrong:
            "Compare the contents of --client-secret-file with the provider’s. If it is right, try --client-auth post or "
                + "basic."
        case .redirectUnregistered:
            "Register this redirect URI at the provider, or use the registered one with --redirect-port, --redirect-host "
                + "and --redirect-path."
        case .requestRefused: "Compare the client id, the redirect URI and the scopes with the registration."
        case .scopeRefused: "Request only scopes that the client may have, with --scope."
        case .scopeUnlisted: "If the sign-in fails, leave them out of --scope."
        case .dpopUnlisted: "If the sign-in fails, leave out --dpop."
        case .keyUnusable:
            "Connect the device that has the key, or install what is missing. A session whose key was made on another computer "
                + "needs a new sign-in here."
        case .sessionOver: "Sign in again."
        case .scopeNotGranted:
            "If you need them, allow them to the client at the provider, and agree to them when you sign in again."
        case .noRefreshToken:
            "Sign in with offline_access in --scope, and allow the client refresh tokens at the provider."
        case .refreshFailing:
            "If the reason does not pass, the options --force-refresh and --explain of sign-in token show the next attempt."
        }
    }
}
