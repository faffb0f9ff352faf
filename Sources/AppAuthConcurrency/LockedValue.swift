#if canImport(Glibc)
    package import Glibc
#endif

/// A value protected by a lock. It uses a pthread mutex, because the thread sanitizer does not see through
/// `Synchronization.Mutex`.
package final class LockedValue<Value>: @unchecked Sendable {
    @usableFromInline package var value: Value
    @usableFromInline package let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init(_ value: sending Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs the body with exclusive access to the value. The body must not suspend or call out.
    ///
    /// Inlinable, because unspecialized generic code is slow, and thousands of callers of a session use this lock.
    @inlinable package func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
