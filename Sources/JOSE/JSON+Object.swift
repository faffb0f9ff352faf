extension JSON {
    /// The members of an object, in order, with unique names.
    public struct Object: Hashable, Sendable {
        /// A name and its value.
        public struct Member: Hashable, Sendable {
            /// The member's name.
            public let name: String
            /// The member's value.
            public var value: JSON

            /// Returns whether both have the same name, compared by code points, and the same value.
            public static func == (left: Member, right: Member) -> Bool {
                left.name.isExactly(right.name) && left.value == right.value
            }
        }

        /// The members, in their original order.
        public private(set) var members: [Member] = []
        /// The position of each name, only for large objects: searching a short list is faster.
        private var index: [ExactText: Int]?

        private static let indexedAbove = 64

        /// Creates an object without members.
        public init() {}

        /// The names, in order.
        public var names: [String] { members.map(\.name) }

        /// The value of a member; nil if it is absent: missing, or `null`, which means the same in every document here.
        /// (``members`` tells the two apart.) Setting nil removes the member.
        public subscript(name: String) -> JSON? {
            get {
                guard let position = position(of: name), members[position].value != .null else { return nil }
                return members[position].value
            }
            set {
                switch (position(of: name), newValue) {
                case (let position?, let value?): members[position].value = value
                case (nil, let value?): append(name, value)
                case (let position?, nil):
                    members.remove(at: position)
                    index = nil
                    indexIfLarge()
                case (nil, nil): break
                }
            }
        }

        /// The value of a member for which an empty string means nothing, so that `""` too counts as absent. Several
        /// servers send it for what they do not have.
        package subscript(nonEmpty name: String) -> JSON? {
            // Not `?:`, in which `nil` would be the JSON null.
            guard let value = self[name], value != "" else { return nil }
            return value
        }

        /// Adds a member, unless it is there already. Returns false if the name has another value.
        package mutating func insert(_ name: String, _ value: JSON) -> Bool {
            if let position = position(of: name) { return members[position].value == value }
            append(name, value)
            return true
        }

        private mutating func append(_ name: String, _ value: JSON) {
            index?[ExactText(name)] = members.count
            members.append(Member(name: name, value: value))
            indexIfLarge()
        }

        private mutating func indexIfLarge() {
            guard index == nil, members.count > Self.indexedAbove else { return }
            index = Dictionary(uniqueKeysWithValues: members.enumerated().map { (ExactText($1.name), $0) })
        }

        private func position(of name: String) -> Int? {
            if let index { index[ExactText(name)] } else { members.firstIndex { $0.name.isExactly(name) } }
        }

        /// Returns whether the same names have the same values, in any order.
        public static func == (left: Object, right: Object) -> Bool {
            left.members.count == right.members.count
                && left.members.allSatisfy { member in
                    right.position(of: member.name).map { right.members[$0].value } == member.value
                }
        }

        /// Hashes the members independently of their order.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(members.reduce(into: 0) { $0 ^= $1.hashValue })
        }
    }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    /// Creates an object. If a name is repeated, the last value counts.
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }

    package init(_ members: some Sequence<(String, JSON)>) {
        for (name, value) in members { self[name] = value }
    }
}
