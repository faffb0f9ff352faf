import JOSE
import Testing

@Suite struct JSONObjectTests {
    /// Below and above the size from which names are indexed.
    static let sizes = [0, 1, 63, 64, 65, 66, 100]

    private func object(_ count: Int) -> JSON.Object {
        var object = JSON.Object()
        for number in 0..<count { object["m\(number)"] = .number(.init(number)) }
        return object
    }

    @Test(arguments: sizes)
    func `every member is found, in order, and no other`(count: Int) {
        let object = object(count)
        #expect(object.names == (0..<count).map { "m\($0)" })
        #expect(object.members.map(\.value) == (0..<count).map { JSON.number(.init($0)) })
        for number in 0..<count { #expect(object["m\(number)"]?.int == number) }
        #expect(object["m\(count)"] == nil)
        #expect(object["M0"] == nil)
    }

    @Test(arguments: sizes)
    func `a value that is set anew stays in its place`(count: Int) {
        var object = object(count)
        for number in 0..<count { object["m\(number)"] = "new" }
        #expect(object.names == (0..<count).map { "m\($0)" })
        #expect(object.members.allSatisfy { $0.value == "new" })
    }

    @Test(arguments: sizes.dropFirst())
    func `a member that is removed is gone, and the others are found`(count: Int) {
        for removed in 0..<count {
            var object = object(count)
            object["m\(removed)"] = nil
            #expect(object.members.count == count - 1)
            for number in 0..<count { #expect(object["m\(number)"]?.int == (number == removed ? nil : number)) }
            object["m\(removed)"] = true
            #expect(object.names.last == "m\(removed)")
            #expect(object["m\(removed)"] == true)
        }
    }

    @Test func `members are removed and added across the size from which names are indexed`() {
        var object = object(100)
        for number in 0..<100 { object["m\(number)"] = nil }
        #expect(object == JSON.Object())
        for number in (0..<100).reversed() { object["m\(number)"] = .number(.init(number)) }
        #expect(object == self.object(100))
        object["m199"] = nil
        #expect(object.members.count == 100)
    }

    @Test func `changing a copy leaves the original unchanged`() {
        let original = object(65)
        var copy = original
        copy["m0"] = nil
        copy["m1"] = "new"
        #expect(original["m0"] == 0)
        #expect(original["m1"] == 1)
        #expect(copy != original)
    }

    @Test(arguments: sizes)
    func `objects are equal in any order of their members`(count: Int) {
        let object = object(count)
        let reversed = JSON.Object(object.members.reversed().map { ($0.name, $0.value) })
        #expect(object == reversed)
        #expect(object.hashValue == reversed.hashValue)
        var other = reversed
        other["m0"] = "another"
        #expect(object != other)
        other["m0"] = nil
        #expect(count == 0 || object != other)
    }

    @Test(arguments: [3, 65])
    func `names are compared code point by code point`(count: Int) {
        var object = object(count)
        object["\u{E9}"] = 1
        object["e\u{301}"] = 2
        object["\u{212A}"] = 3
        // Two marks in either order: as long, and to Unicode the same.
        object["a\u{323}\u{307}"] = 4
        object["a\u{307}\u{323}"] = 5
        #expect(object.members.count == count + 5)
        #expect(object["a\u{323}\u{307}"] == 4)
        #expect(object["\u{E9}"] == 1)
        #expect(object["e\u{301}"] == 2)
        #expect(object["K"] == nil)
        object["\u{E9}"] = nil
        #expect(object["e\u{301}"] == 2)
    }

    @Test func `a member that is inserted is refused if it is there`() {
        var object = object(65)
        let inserted = [object.insert("new", 1), object.insert("new", 2), object.insert("m0", 2)]
        #expect(inserted == [true, false, false])
        #expect(object["new"] == 1)
        #expect(object["m0"] == 0)
    }

    @Test func `of literal members with one name the last one stays`() {
        let object: JSON.Object = ["a": 1, "b": 2, "a": 3]
        #expect(object["a"] == 3)
        #expect(object.names == ["a", "b"])
        #expect(JSON.object(object) == ["a": 3, "b": 2])
    }

    @Test func `values are compared by type and content`() throws {
        let values: [JSON] = [nil, true, false, 0, 1, "", "1", [], [1], [:], ["a": 1], "null"]
        for (left, first) in values.enumerated() {
            for (right, second) in values.enumerated() { #expect((first == second) == (left == right)) }
        }
        #expect(try JSON(parsing: "1.0") != JSON(parsing: "1"))
        #expect(JSON.string("\u{E9}") != JSON.string("e\u{301}"))
        #expect(JSON.string("\u{212A}") != "K")
    }

    @Test func `a value converts to no other type`() {
        let values: [JSON] = [nil, true, 1, "text", [1], ["a": 1]]
        #expect(values.map { $0.bool != nil } == [false, true, false, false, false, false])
        #expect(values.map { $0.int != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.double != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
        #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
        #expect(values.map { $0.object != nil } == [false, false, false, false, false, true])
        #expect(values.map { $0["a"] != nil } == [false, false, false, false, false, true])
    }

    @Test func `an array of strings holds nothing else`() {
        #expect(JSON.array(["a", "b"]).strings == ["a", "b"])
        #expect(JSON.array([]).strings == [])
        #expect(JSON.array(["a", 1]).strings == nil)
        #expect(JSON.array(["a", nil]).strings == nil)
        #expect(JSON.string("a").strings == nil)
    }
}
