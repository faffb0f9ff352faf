internal import FoundationEssentials
internal import JOSE

/// A device that waits for a person who enters its code elsewhere (RFC 8628).
struct DeviceRequest: Sendable {
    /// What has become of it.
    enum Outcome: Sendable {
        case pending
        case denied
        case approved(Grant)
        /// Its tokens are out.
        case used
    }

    let client: RegisteredClient
    let scopes: [String]
    let userCode: UserCode
    let expiresAt: Date
    var pace: PollingPace
    var outcome = Outcome.pending
}

/// The code that a person types: eight consonants, so that no word comes about (RFC 8628 §6.1). 34 bits, which is enough
/// with the limit of ``UserCodeAttempts``.
struct UserCode: Hashable, Sendable {
    private let letters: String

    private static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    private static let count = 8

    /// As it is shown.
    var shown: String { letters.prefix(4) + "-" + letters.dropFirst(4) }

    /// A new one, each letter equally likely.
    static func make() throws -> UserCode {
        var letters: [UInt8] = []
        // 240 is the largest multiple of 20 in a byte.
        while letters.count < count {
            letters += try randomBytes(count).filter { $0 < 240 }.map { alphabet[Int($0) % alphabet.count] }
        }
        return UserCode(letters: String(decoding: letters.prefix(count), as: UTF8.self))
    }

    private init(letters: String) { self.letters = letters }

    /// Reads what a person typed: in any case, with or without dashes and spaces (RFC 8628 §6.1). nil for what cannot be
    /// a code.
    init?(typed: String) {
        let letters = typed.uppercased().filter { $0 != "-" && !$0.isWhitespace }
        guard letters.utf8.count == Self.count, letters.utf8.allSatisfy(Self.alphabet.contains) else { return nil }
        self.letters = letters
    }
}

/// How many wrong codes were entered of late. For all browsers together, since a guesser throws cookies away.
struct UserCodeAttempts: Sendable {
    private var times: [Date] = []

    /// RFC 8628 §5.1: ten in a minute leave a guesser one chance in 250 million while a code of ten minutes lives.
    static let mostInAMinute = 10

    mutating func fail(_ now: Date) { times.append(now) }

    /// The seconds until the next attempt is allowed; nil if it is allowed now.
    mutating func pause(_ now: Date) -> Int? {
        times.removeAll { now.timeIntervalSince($0) >= 60 }
        guard times.count >= Self.mostInAMinute, let oldest = times.first else { return nil }
        return max(1, 60 - Int(now.timeIntervalSince(oldest)))
    }
}

extension Records {
    /// The device that waits for a decision under this code.
    func waitingDevice(_ userCode: UserCode, _ now: Date) -> (deviceCode: String, request: DeviceRequest)? {
        guard let deviceCode = userCodes[userCode], let request = devices[deviceCode], request.expiresAt > now,
            case .pending = request.outcome
        else { return nil }
        return (deviceCode, request)
    }

    /// Takes the person's decision down; false if there is nothing to decide any more.
    mutating func decide(_ userCode: UserCode, _ outcome: DeviceRequest.Outcome, _ now: Date) -> Bool {
        guard let (deviceCode, _) = waitingDevice(userCode, now) else { return false }
        devices[deviceCode]?.outcome = outcome
        userCodes[userCode] = nil
        return true
    }
}
