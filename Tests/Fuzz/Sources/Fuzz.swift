internal import Dispatch
internal import Glibc

/// The entry point that libFuzzer calls with each input, for the reader that $FUZZ_TARGET names.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

private let check: @Sendable ([UInt8]) -> Void = {
    switch getenv("FUZZ_TARGET").map({ String(cString: $0) }) {
    case "redirect": return Redirect.check
    case "jws": return SignedToken.check
    case "jwe": return EncryptedToken.check
    case "jwks": return KeySets.check
    case "metadata": return Metadata.check
    case "token-response": return TokenResponses.check
    case "challenge": return Challenges.check
    case "session": return StoredSessions.check
    case "id-token": return IDTokenClaims.check
    case "signed-response": return SignedResponses.check
    case "pem": return PrivateKeys.check
    case "desktop": return DesktopFiles.check
    case "paste": return PastedURLs.check
    case "webfinger": return WebFingerResponses.check
    case "http-date": return HTTPDates.check
    case "proxy": return ProxyRequests.check
    case let name: fatalError("expected a target in FUZZ_TARGET, found \(name ?? "none")")
    }
}()

/// Ends the run, and libFuzzer keeps the input. An optimised `precondition` would not name the broken rule.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) { if !condition { fatalError(what()) } }

/// Waits for asynchronous work: libFuzzer calls from no task.
func wait(for work: @escaping @Sendable () async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task {
        await work()
        done.signal()
    }
    done.wait()
}

extension String {
    /// Whether a terminal or a log shows it in one line.
    var isOneLine: Bool { !unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }
}
