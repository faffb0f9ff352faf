internal import Glibc

/// The user namespace of this process (user_namespaces(7)).
enum UserNamespace {
    /// The number of every user of the machine without one here.
    static let anyOtherUser: uid_t = 65534

    /// Whether each user of the machine has a number here.
    static var hasEveryUser: Bool {
        let map = (try? InputFile.read("/proc/self/uid_map", atMost: 4096)) ?? []
        return String(decoding: map, as: UTF8.self).split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}
