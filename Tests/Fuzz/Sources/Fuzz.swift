/// What libFuzzer calls with each input: the bytes that a client of the listener sends on one connection.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    Connection.check(input)
    Parameters.check(String(decoding: input, as: UTF8.self))
    return 0
}

/// Ends the run, and libFuzzer keeps the input. An optimised `precondition` would not say what was broken.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) { if !condition { fatalError(what()) } }
