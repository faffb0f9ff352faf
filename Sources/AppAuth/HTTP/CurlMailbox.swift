internal import CShims
internal import JOSE

/// What callers ask of the loop, from any thread.
final class CurlMailbox: Sendable {
    struct Contents {
        var submitted: [CurlTransfer] = []
        var cancelled: [CurlTransfer] = []
        var isClosing = false
    }

    private struct State: @unchecked Sendable {
        var contents = Contents()
        /// Nil once the loop has ended, which may be before the last cancellation comes.
        var multi: UnsafeMutableRawPointer?
    }

    private let state: LockedValue<State>
    private let library: CurlLibrary

    init(_ library: CurlLibrary, multi: UnsafeMutableRawPointer) {
        self.library = library
        state = LockedValue(State(multi: multi))
    }

    /// Leaves something for the loop and wakes it.
    func post(_ change: (inout Contents) -> Void) {
        state.withLock { state in
            guard let multi = state.multi else { return }
            change(&state.contents)
            // Under the lock, so that the multi handle is still there.
            shims_curl_multi_wake(library.curl, multi)
        }
    }

    /// Hands over what was left.
    func take() -> Contents {
        state.withLock { state in
            defer { state.contents = Contents(isClosing: state.contents.isClosing) }
            return state.contents
        }
    }

    /// Takes nothing more.
    func close() { state.withLock { $0.multi = nil } }
}
