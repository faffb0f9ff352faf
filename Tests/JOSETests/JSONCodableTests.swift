import Foundation
import JOSE
import Testing

@Suite struct JSONCodableTests {
    private func encoded(_ json: JSON) throws -> String {
        String(decoding: try JSONEncoder().encode(["value": json]), as: UTF8.self)
    }

    @Test(
        arguments: [
            .null, true, false, 0, -1, .number(.init(Int.max)), "", "a \"text\"\n", [], [:], [1, [2, [nil]]],
            ["a": ["b": [1, "c", false, nil]], "d": [:]],
        ] as [JSON])
    func `a value comes back`(value: JSON) throws {
        let data = try JSONEncoder().encode(["value": value])
        #expect(try JSONDecoder().decode([String: JSON].self, from: data) == ["value": value])
    }

    @Test func `a value is encoded with its own type`() throws {
        #expect(try encoded([1, "a", true, nil]) == #"{"value":[1,"a",true,null]}"#)
        #expect(try encoded(["a": [:]]) == #"{"value":{"a":{}}}"#)
        #expect(try encoded(try JSON(parsing: "1.5")) == #"{"value":1.5}"#)
        #expect(try encoded(try JSON(parsing: "1e2")) == #"{"value":100}"#)
    }

    @Test(arguments: ["1.5", "-0.25", "1e300"])
    func `a number with a fraction comes back with its value`(text: String) throws {
        let value = try JSON(parsing: text)
        let back = try JSONDecoder().decode([JSON].self, from: JSONEncoder().encode([value]))
        #expect(back[0].double == value.double)
        #expect(throws: Never.self) { try JSON(parsing: back[0].serialized()) }
    }

    @Test func `a number that no double holds is not encoded`() throws {
        let value = try JSON(parsing: "1e400")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([value]) }
    }

    @Test func `a number that is not finite is not decoded`() throws {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let decoded = try decoder.decode([JSON].self, from: Data(#"["inf", 1]"#.utf8))
        #expect(decoded == ["inf", 1])
        #expect(throws: Never.self) { try JSON(parsing: JSON.array(decoded).serialized()) }
    }

    @Test func `an object is decoded with all its members`() throws {
        let members = (0..<40).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let decoded = try JSONDecoder().decode(JSON.self, from: Data("{\(members)}".utf8))
        #expect(try decoded == JSON(parsing: "{\(members)}"))
    }
}
