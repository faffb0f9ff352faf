import JOSE
import Testing

struct ASCIITests {
    @Test func `a class contains exactly its characters`() {
        let all = UInt8.min...UInt8.max
        let text = { (isIncluded: (UInt8) -> Bool) in String(decoding: all.filter(isIncluded), as: UTF8.self) }
        #expect(text(\.isASCIIDigit) == "0123456789")
        #expect(text(\.isASCIILowercase) == "abcdefghijklmnopqrstuvwxyz")
        #expect(text(\.isASCIILetter) == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        #expect(text(\.isASCIIAlphanumeric) == text(\.isASCIIDigit) + text(\.isASCIILetter))
        #expect(text { $0.hexDigitValue != nil } == "0123456789ABCDEFabcdef")
        for value in 0..<16 {
            for digit in [String(value, radix: 16), String(value, radix: 16, uppercase: true)] {
                #expect(digit.utf8.first?.hexDigitValue == UInt8(value))
            }
        }
    }

    @Test func `bytes that are not kept are percent-encoded in upper case`() {
        #expect("a b/é\u{0}".percentEncoded(keeping: \.isASCIIAlphanumeric) == "a%20b%2F%C3%A9%00")
        #expect("a%2F".percentEncoded { _ in true } == "a%2F")
        #expect("".percentEncoded(keeping: \.isASCIIDigit) == "")
    }

    @Test(arguments: ["", "a", "%20", "%aF%00x", "x%7E"])
    func `complete escapes are recognised`(text: String) { #expect(text.utf8.escapesAreComplete) }

    @Test(arguments: ["%", "a%2", "%2g", "%g2", "%%20", "%20%", "100%é"])
    func `incomplete escapes are recognised`(text: String) { #expect(!text.utf8.escapesAreComplete) }
}
