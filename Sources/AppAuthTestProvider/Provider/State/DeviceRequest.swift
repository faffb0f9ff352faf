internal import FoundationEssentials
internal import JOSE

/// A device that waits for a user to enter its code elsewhere (RFC 8628).
struct DeviceRequest: Sendable {
    /// The status of a device's request.
    enum Status: Sendable {
        case pending
        case denied
        case approved(Grant)
        /// The device has received its tokens.
        case used
    }

    let client: RegisteredClient
    let scopes: [String]
    /// The resources of the tokens (RFC 8707); empty for all.
    var resources: [String] = []
    let userCode: UserCode
    let expiresAt: Date
    var pace: PollingPace
    var status = Status.pending
}

/// The code that a user types: eight consonants, so that it forms no word (RFC 8628 §6.1). It has 34 bits, which
/// suffices with the limit of ``UserCodeAttempts``.
struct UserCode: Hashable, Sendable {
    private let letters: String

    private static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    private static let count = 8

    /// The code as it is displayed.
    var shown: String { letters.prefix(4) + "-" + letters.dropFirst(4) }

    /// Makes a new code in which each letter is equally likely.
    static func make() throws -> UserCode {
        var letters: [UInt8] = []
        // 240 is the largest multiple of 20 in a byte.
        while letters.count < count {
            letters += try randomBytes(count).filter { $0 < 240 }.map { alphabet[Int($0) % alphabet.count] }
        }
        return UserCode(letters: String(decoding: letters.prefix(count), as: UTF8.self))
    }

    private init(letters: String) { self.letters = letters }

    /// Parses a typed code: in any case, with or without dashes and spaces (RFC 8628 §6.1). Returns nil if it cannot be
    /// a code.
    init?(typed: String) {
        let letters = typed.uppercased().filter { $0 != "-" && !$0.isWhitespace }
        guard letters.utf8.count == Self.count, letters.utf8.allSatisfy(Self.alphabet.contains) else { return nil }
        self.letters = letters
    }
}

/// The recent attempts with a wrong code, counted for all browsers together, since an attacker discards cookies.
struct UserCodeAttempts: Sendable {
    private var times: [Date] = []

    /// The maximum number of attempts in a minute. Ten leave an attacker one chance in 250 million during the ten
    /// minutes of a code (RFC 8628 §5.1).
    static let mostInAMinute = 10

    mutating func fail(_ now: Date) { times.append(now) }

    /// Returns the seconds until the next attempt is allowed; nil if it is allowed now.
    mutating func pause(_ now: Date) -> Int? {
        times.removeAll { now.timeIntervalSince($0) >= 60 }
        guard times.count >= Self.mostInAMinute, let oldest = times.first else { return nil }
        return max(1, 60 - Int(now.timeIntervalSince(oldest)))
    }
}

extension Records {
    /// Returns the device that waits for a decision on this code.
    func waitingDevice(_ userCode: UserCode, _ now: Date) -> (deviceCode: String, request: DeviceRequest)? {
        guard let deviceCode = userCodes[userCode], let request = devices[deviceCode], request.expiresAt > now,
            case .pending = request.status
        else { return nil }
        return (deviceCode, request)
    }

    /// Records the user's decision; false if no device is waiting any more.
    mutating func decide(_ userCode: UserCode, _ status: DeviceRequest.Status, _ now: Date) -> Bool {
        guard let (deviceCode, _) = waitingDevice(userCode, now) else { return false }
        devices[deviceCode]?.status = status
        userCodes[userCode] = nil
        return true
    }
}
