internal import HTTPTypes
internal import JOSE

/// The endpoint `me/optins`: the list of a user's opt-ins, each `{"type":…,"accepted":…,"updated_at":…}`.
///
/// - The list: GET returns `{"optins":[…]}`; POST of one adds it (201, or 409 `optin_exists`); PUT of `{"optins":[…]}`
///   replaces the list; DELETE empties it (204).
/// - One opt-in, at `me/optins/<type>`: GET, PUT of `{"accepted":…}`, DELETE (204); 404 `not_found` if there is none.
struct OptInsEndpoint {
    let context: Context
    let optIns: OptIns
    private var api: AccountsAPI { AccountsAPI(context: context) }

    func respond(to request: Request) throws -> Reply {
        let type = type(in: request)
        let allowed: [HTTPRequest.Method] = type == nil ? [.get, .post, .put, .delete] : [.get, .put, .delete]
        guard allowed.contains(request.method) else {
            return .notAllowed(allowed.map(\.rawValue).joined(separator: ", "))
        }
        return try api.respond {
            let subject = try api.person(request).user.subject
            return try type.map { try one($0, of: subject, request) } ?? list(of: subject, request)
        }
    }

    /// Returns the part of the path after `me/optins/`.
    private func type(in request: Request) -> String? {
        request.path.firstRange(of: "/me/optins/").map { String(request.path[$0.upperBound...]) }
    }

    private func list(of subject: String, _ request: Request) throws -> Reply {
        switch request.method {
        case .get: return all(of: subject)
        case .post:
            let new = try optIn(api.object(request))
            try optIns.update(of: subject) { list in
                guard !list.contains(where: { $0.type == new.type }) else {
                    throw AccountsAPI.Refusal(.conflict, "optin_exists", "there is one of this type")
                }
                list.append(new)
            }
            var reply = Reply.json(new.json, .created)
            reply.headers[.location] = request.path + "/" + new.type
            return reply
        case .put:
            guard let wanted = try api.object(request)["optins"]?.array else { throw Self.invalid(["optins"]) }
            let new = try wanted.map { try optIn($0.object ?? .init()) }
            guard Set(new.map(\.type)).count == new.count else { throw Self.invalid(["type"]) }
            optIns.update(of: subject) { $0 = new }
            return all(of: subject)
        default:
            optIns.update(of: subject) { $0 = [] }
            return Reply(.noContent)
        }
    }

    private func all(of subject: String) -> Reply {
        .json(context.edited(["optins": .array(optIns.list(of: subject).map(\.json))]))
    }

    private func one(_ type: String, of subject: String, _ request: Request) throws -> Reply {
        let accepted = request.method == .put ? try accepted(api.object(request)) : nil
        let now = context.now.seconds
        return try optIns.update(of: subject) { list in
            guard let index = list.firstIndex(where: { $0.type == type }) else {
                throw AccountsAPI.Refusal(.notFound, "not_found", "there is no opt-in of this type")
            }
            if request.method == .delete {
                list.remove(at: index)
                return Reply(.noContent)
            }
            if let accepted { (list[index].isAccepted, list[index].changedAt) = (accepted, now) }
            return .json(list[index].json)
        }
    }

    private func optIn(_ document: JSON.Object) throws -> OptIns.OptIn {
        guard let type = document["type"]?.string, !type.isEmpty,
            type.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_") })
        else { throw Self.invalid(["type"]) }
        return OptIns.OptIn(type: type, isAccepted: try accepted(document), changedAt: context.now.seconds)
    }

    private func accepted(_ document: JSON.Object) throws -> Bool {
        guard let accepted = document["accepted"]?.bool else { throw Self.invalid(["accepted"]) }
        return accepted
    }

    private static func invalid(_ fields: [String]) -> AccountsAPI.Refusal {
        AccountsAPI.Refusal(
            .unprocessableContent, "validation_failed", "expected a type of letters and accepted to be true or false",
            fields: fields)
    }
}
