import Testing

@testable import AppAuthSession

/// Refresh tokens whose successors are not stored yet.
struct ExposureTests {
    @Test func `each of two ends once, by itself or at the end of its scope`() async {
        let exposures = Exposures()
        do {
            let other = exposures.begin()
            do {
                var first = exposures.begin()
                first.end()
            }
            #expect(exposures.areSome)
            _ = consume other
        }
        #expect(!exposures.areSome)
        await exposures.end()
    }
}
