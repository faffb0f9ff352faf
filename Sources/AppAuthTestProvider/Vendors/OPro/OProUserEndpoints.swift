internal import HTTPTypes
internal import JOSE

/// oPRO's API: the user, a random user, and the test that reports what is wrong with a token.
struct OProUserEndpoints: Sendable {
    let deletesUsers: Bool
    let records: OProRecords
    private var authorization: OProAuthorization { OProAuthorization(records: records) }

    init(deletesUsers: Bool, records: OProRecords) { (self.deletesUsers, self.records) = (deletesUsers, records) }

    /// The endpoint `/users/me.json`. GET returns the user. PUT changes what the body names, JSON or a form, and returns
    /// the result. DELETE deletes the user and its grant, and responds with 204. A request without a valid token gets
    /// 401 and `errors`.
    func me(_ request: Request) -> Reply {
        guard [.get, .put, .delete].contains(request.method) else { return .noRoute }
        if request.method == .delete, !deletesUsers {
            // The response to a request without a session of the browser is the double's choice.
            return .json(["errors": "You need to sign in before continuing"], .unauthorized)
        }
        let user: OProUser
        do throws(OProAuthorization.Refusal) {
            user = try authorization.user(request)
        } catch {
            return .json(["errors": .string(error.sentence)], .unauthorized)
        }
        switch request.method {
        case .put: return change(user, request)
        case .delete:
            records.delete(user.id)
            return Reply(.noContent)
        default: return .json(user.json)
        }
    }

    private func change(_ user: OProUser, _ request: Request) -> Reply {
        guard let changes = changes(in: request) else {
            return .json(["errors": #"Expected JSON: {"user":{…}}, or a form: user[…]=…"#], .badRequest)
        }
        do throws(OProUser.Refusal) {
            return .json(try records.update(user.id, with: changes).json)
        } catch {
            return .json(["errors": [.string(error.sentence)]], .unprocessableContent)
        }
    }

    /// Reads `{"user":{"zip":"1"}}`, or `user[zip]=1` as Rails does.
    private func changes(in request: Request) -> JSON.Object? {
        if request.isJSON { return try? JSON(parsing: request.body)["user"]?.object }
        guard let form = request.form, form.repeated == nil else { return nil }
        var changes = JSON.Object()
        for entry in form.entries where entry.name.hasPrefix("user[") && entry.name.hasSuffix("]") {
            changes[String(entry.name.dropFirst("user[".count).dropLast())] = .string(entry.value)
        }
        return changes.names.isEmpty ? nil : changes
    }

    /// The endpoint `/users/random.json`, for demonstrations: the name and the password of a new user.
    func random(_ request: Request) throws -> Reply {
        guard request.method == .post || request.method == .get else { return .notAllowed("GET, POST") }
        let user = try records.makeRandomUser()
        return Reply.json(["username": .string(user.username), "password": .string(user.password)]).notStored
    }

    /// The endpoint `/oauth_tests/show_me_the_money`: JSON if the path or the request's `Accept` asks for it, else HTML.
    func showMeTheMoney(_ request: Request) -> Reply {
        guard request.method == .get else { return .noRoute }
        let (document, status): (JSON, HTTPResponse.Status)
        do throws(OProAuthorization.Refusal) {
            let user = try authorization.user(request)
            (document, status) = (
                ["status": 200, "message": "OAuth worked!", "user_id": .number(.init(user.id))], .ok
            )
        } catch {
            (document, status) = (
                ["status": "unauthorized", "message": .string("OAuth did not work :(  \(error.sentence)")],
                .unauthorized
            )
        }
        let asksForJSON =
            request.path.hasSuffix(".json")
            || request.headers[values: .accept].contains { $0.hasPrefix("application/json") }
        var reply = Reply.json(document, status)
        if !asksForJSON {
            reply = Reply(status, type: "text/html; charset=utf-8", "<!doctype html><p>\(document.serialized())</p>")
        }
        return reply
    }
}
