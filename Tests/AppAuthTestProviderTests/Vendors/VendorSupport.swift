import JOSE
import AppAuthTestProvider
import Testing

/// Runs a test against a double of its own.
func withDouble<Double: VendorDouble>(_ double: Double, _ body: (Double) async throws -> Void) async throws {
    do {
        try await body(double)
        await double.stop()
    } catch {
        await double.stop()
        throw error
    }
}

/// A form with one entry changed, added, or (nil) taken out.
func form(
    _ entries: KeyValuePairs<String, String?>, _ changes: KeyValuePairs<String, String?> = [:]
) -> [(name: String, value: String)] {
    var form = entries.compactMap { name, value in value.map { (name: name, value: $0) } }
    for (name, value) in changes {
        form.removeAll { $0.name == name }
        if let value { form.append((name, value)) }
    }
    return form
}

extension ManualClock {
    var options: DoubleOptions {
        var options = DoubleOptions()
        options.clock = read
        return options
    }
}
