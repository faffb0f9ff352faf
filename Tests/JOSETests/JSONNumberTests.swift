import JOSE
import Testing

@Suite struct JSONNumberTests {
    @Test(arguments: [
        "0", "-0", "1", "-1", "10", "1.0", "0.5", "-0.0", "1e3", "1E3", "1e+3", "1e-3", "0e0", "1.5e400", "1e400",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "123456789012345678901234567890",
        "1e-400",
    ])
    func `a number keeps its text`(text: String) throws {
        guard case .number(let number) = try JSON(parsing: text) else { throw JOSEError("expected a number") }
        #expect(number.text == text)
        #expect(try JSON(parsing: "[\(text)]").serialized() == "[\(text)]")
    }

    /// RFC 8259 §6.
    @Test(arguments: [
        "01", "00", "-01", "-00", "1.", ".5", "-.5", "+1", "-", "+", "--1", "1..2", "1.2.3", "1e", "1e+", "1e-",
        "1E+-1",
        "1.e1", "0x10", "0b1", "1_000", "1,000", "\u{661}", "\u{FF11}", "1e1.5", "e1", "1 e1", "- 1", "1f", "0.",
    ])
    func `a text that is no number is refused`(text: String) {
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: text) }
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: "[\(text)]") }
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("42", 42), ("-42", -42), ("9223372036854775807", Int.max),
        ("-9223372036854775808", Int.min),
    ])
    func `an integer is read`(text: String, value: Int) throws {
        #expect(try JSON(parsing: text).int == value)
    }

    @Test(arguments: [
        "1.0", "1.5", "1e3", "9223372036854775808", "-9223372036854775809", "1e400", "true", "null", #""1""#,
    ])
    func `a number that is no integer, or does not fit, has no integer value`(text: String) throws {
        #expect(try JSON(parsing: text).int == nil)
    }

    @Test(arguments: [
        ("0", 0), ("1.5", 1.5), ("-1.5e-3", -0.0015), ("1e3", 1000), ("1e308", 1e308), ("1e-400", 0),
        ("9223372036854775808", 9_223_372_036_854_775_808), ("1700000000.25", 1_700_000_000.25),
    ])
    func `a double is read`(text: String, value: Double) throws {
        #expect(try JSON(parsing: text).double == value)
    }

    @Test(arguments: ["1e400", "-1e400", "1e99999999999999999999", "true", #""1""#])
    func `a number that is not finite has no double value`(text: String) throws {
        #expect(try JSON(parsing: text).double == nil)
    }

    @Test func `a number made from an integer is written as one`() {
        #expect(JSON.number(.init(UInt64.max)).serialized() == "18446744073709551615")
        #expect(JSON.number(.init(-1)) == -1)
    }
}
