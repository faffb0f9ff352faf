package import Glibc

/// Closes all descriptors but the standard ones in a process that is to be started. Sockets of other tests would stay open in it:
/// swift-nio's are inherited, and the other end of such a connection never sees its end.
/// A GNU extension does it, which Swift does not import.
package func closeInherited(in files: inout posix_spawn_file_actions_t) {
    typealias Function = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
        fatalError("expected glibc 2.34 or newer, found none of its posix_spawn_file_actions_addclosefrom_np")
    }
    _ = unsafeBitCast(symbol, to: Function.self)(&files, STDERR_FILENO + 1)
}
