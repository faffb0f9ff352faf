internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import Glibc

/// File descriptors that are held while this process has a refresh lock or waits for one. The new tokens can then be stored even if the
/// process has reached its limit of open files.
enum SpareDescriptors {
    /// One for a lock and one for one file at a time.
    fileprivate static let count = 2

    fileprivate struct State {
        var keepers = 0
        var users = 0
        var descriptors: [Int32] = []
    }

    private static let state = LockedValue(State())

    /// Holds the descriptors until ``drop()``.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if too few are available. Nothing may be sent then.
    static func keep(for location: String) throws {
        let error = state.withLock { state -> Int32 in
            let error = state.users > 0 ? 0 : state.fill()
            if error == 0 { state.keepers += 1 } else if state.keepers == 0 { state.clear() }
            return error
        }
        guard error == 0 else { throw AuthError.store(location, "has no room for new tokens", errno: error) }
    }

    static func drop() {
        state.withLock { state in
            state.keepers -= 1
            if state.keepers == 0 { state.clear() }
        }
    }

    /// Releases the descriptors while some work opens files in their place.
    static func use<Result>(_ work: () throws -> Result) rethrows -> Result {
        state.withLock { state in
            state.users += 1
            state.clear()
        }
        defer {
            state.withLock { state in
                state.users -= 1
                if state.users == 0, state.keepers > 0 { _ = state.fill() }
            }
        }
        return try work()
    }
}

extension SpareDescriptors.State {
    /// - Returns: An error number, or 0.
    fileprivate mutating func fill() -> Int32 {
        while descriptors.count < SpareDescriptors.count {
            let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { return errno }
            descriptors.append(descriptor)
        }
        return 0
    }

    fileprivate mutating func clear() {
        for descriptor in descriptors { close(descriptor) }
        descriptors = []
    }
}
