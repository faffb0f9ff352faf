internal import JOSE

/// A user of oPRO's demo.
struct OProUser: Sendable {
    let id: Int
    var username: String
    var email: String
    let password: String
    var twitter: String?
    var zip: String?

    static let ruby = OProUser(
        id: 1, username: "ruby", email: "ruby@example.com", password: "red-slippers", twitter: "ruby_on_rails",
        zip: "78701")

    /// The JSON of the API: everything but the password, flat.
    var json: JSON {
        [
            "id": .number(.init(id)), "username": .string(username), "email": .string(email),
            "twitter": twitter.map(JSON.string) ?? .null, "zip": zip.map(JSON.string) ?? .null,
        ]
    }

    /// The reason for refusing a change, in the words of Rails.
    struct Refusal: Error { let sentence: String }

    /// Applies the changes in `{"user":{…}}`: `email`, `twitter` and `zip`, each a string, or null except for the
    /// email.
    mutating func apply(_ changes: JSON.Object) throws(Refusal) {
        for change in changes.members {
            guard change.value.string != nil || change.value == .null else {
                throw Refusal(sentence: "\(change.name.forDescription) is invalid")
            }
            switch change.name {
            case "email":
                guard let email = change.value.string, email.split(separator: "@").count == 2 else {
                    throw Refusal(sentence: "Email is invalid")
                }
                self.email = email
            case "twitter": twitter = change.value.string
            case "zip": zip = change.value.string
            default: throw Refusal(sentence: "\(change.name.forDescription) cannot be changed")
            }
        }
    }
}
