import Foundation
package import Glibc

/// A launcher of processes that inherit only the given descriptors.
package enum Spawn {
    /// The standard input of a process.
    package enum Input {
        /// Empty input.
        case empty
        case descriptor(CInt)
        /// A terminal, by its path. The process leads a session of its own.
        case terminal(String)
    }

    package static func start(
        _ arguments: [String], _ environment: [String: String], input: Input = .empty, output: CInt, errors: CInt
    ) throws -> pid_t {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        switch input {
        case .empty: posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&files, descriptor, STDIN_FILENO)
        case .terminal(let path):
            // glibc's POSIX_SPAWN_SETSID, which is also a GNU extension.
            flags |= 0x80
            posix_spawn_file_actions_addopen(&files, STDIN_FILENO, path, O_RDWR, 0)
        }
        posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO)
        closeInherited(in: &files)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var id: pid_t = 0
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in words + variables { free(copy) } }
        let error = posix_spawnp(&id, arguments[0], &files, &attributes, words, variables)
        guard error == 0 else { throw POSIXError(.init(rawValue: error) ?? .EIO) }
        return id
    }

    /// Waits until a process has ended.
    ///
    /// - Returns: Its exit status, or the signal that ended it.
    package static func end(of id: pid_t) async -> CInt {
        await withCheckedContinuation { waiting in
            Thread.detachNewThread { waiting.resume(returning: wait(id)) }
        }
    }

    /// As ``end(of:)``, blocking the thread.
    package static func wait(_ id: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : status & 0x7F
    }
}
