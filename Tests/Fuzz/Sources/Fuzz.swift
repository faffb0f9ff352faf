internal import Glibc

/// What libFuzzer calls with each input, for the reader that $FUZZ_TARGET names.
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
    case "token-answer": return TokenAnswer.check
    case "challenge": return Challenges.check
    case let name: fatalError("expected a target in FUZZ_TARGET, found \(name ?? "none")")
    }
}()

/// Ends the run, and libFuzzer keeps the input. An optimised `precondition` would not say what was broken.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) { if !condition { fatalError(what()) } }

extension String {
    /// Whether a terminal or a log shows it in one line.
    var isOneLine: Bool { !unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }
}
