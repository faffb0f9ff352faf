internal import HTTPTypes
internal import JOSE

/// oPRO's API: the user, a random user, and the test that reports what is wrong with a token.
struct OProUserEndpoints: Sendable {
    let records: OProRecords
    private var authorization: OProAuthorization { OProAuthorization(records: records) }

    init(records: OProRecords) { self.records = records }

    /// The endpoint `/users/me.json`. GET returns the user. PUT and POST change what the body names, and return the
    /// result. DELETE deletes the user and all of its tokens, and responds with 204. A request without a valid token
    /// gets 401 and `errors`.
    func me(_ request: Request) -> Reply {
        let user: OProUser
        do throws(OProAuthorization.Refusal) {
            user = try authorization.user(request)
        } catch {
            return .json(["errors": .string(error.sentence)], .unauthorized)
        }
        switch request.method {
        case .get: return .json(user.json)
        case .put, .post: return change(user, request)
        case .delete:
            records.delete(user.id)
            return Reply(.noContent)
        default: return .notAllowed("GET, PUT, POST, DELETE")
        }
    }

    private func change(_ user: OProUser, _ request: Request) -> Reply {
        guard request.isJSON, let changes = try? JSON(parsing: request.body)["user"]?.object else {
            return .json(["errors": #"Expected JSON: {"user":{…}}"#], .badRequest)
        }
        do throws(OProUser.Refusal) {
            return .json(try records.update(user.id, with: changes).json)
        } catch {
            return .json(["errors": [.string(error.sentence)]], .unprocessableContent)
        }
    }

    /// The endpoint `/users/random.json`, for demonstrations: the name and the password of a new user.
    func random(_ request: Request) throws -> Reply {
        guard request.method == .post || request.method == .get else { return .notAllowed("GET, POST") }
        let user = try records.makeRandomUser()
        return Reply.json(["username": .string(user.username), "password": .string(user.password)]).notStored
    }

    /// The endpoint `/oauth_tests/show_me_the_money`.
    func showMeTheMoney(_ request: Request) -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        do throws(OProAuthorization.Refusal) {
            let user = try authorization.user(request)
            return .json(["status": 200, "message": "OAuth worked!", "user_id": .number(.init(user.id))])
        } catch {
            return .json(
                ["status": "unauthorized", "message": .string("OAuth did not work: \(error.sentence)")], .unauthorized)
        }
    }
}
