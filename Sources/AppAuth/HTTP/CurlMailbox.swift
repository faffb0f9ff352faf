internal import AppAuthConcurrency
internal import CShims

/// The requests of callers to the loop. It can be used from any thread.
final class CurlMailbox: Sendable {
    struct Contents {
        var submitted: [CurlTransfer] = []
        var cancelled: [CurlTransfer] = []
        /// Paused transfers that may go on.
        var resumed: [CurlTransfer] = []
        var isClosing = false
    }

    private struct State: @unchecked Sendable {
        var contents = Contents()
        /// Whether the loop was woken for the contents.
        var isWoken = false
        /// Nil once the loop has ended. A last cancellation may arrive after that.
        var multi: UnsafeMutableRawPointer?
    }

    private let state: LockedValue<State>
    private let library: CurlLibrary

    init(_ library: CurlLibrary, multi: UnsafeMutableRawPointer) {
        self.library = library
        state = LockedValue(State(multi: multi))
    }

    /// Posts a change to the loop, and wakes it unless it is about to take an earlier one.
    func post(_ change: (inout Contents) -> Void) {
        state.withLock { state in
            guard let multi = state.multi else { return }
            change(&state.contents)
            guard !state.isWoken else { return }
            state.isWoken = true
            // Called under the lock, so that the multi handle still exists.
            shims_curl_multi_wake(library.curl, multi)
        }
    }

    /// Removes and returns the posted contents.
    func take() -> Contents {
        state.withLock { state in
            defer { (state.contents, state.isWoken) = (Contents(isClosing: state.contents.isClosing), false) }
            return state.contents
        }
    }

    /// Ignores all later posts.
    func close() { state.withLock { $0.multi = nil } }
}
