internal import Glibc

/// Returns the value of an environment variable; nil if it is empty.
func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
