internal import AppAuthTestProvider
internal import ArgumentParser
internal import HTTPTypes
internal import JOSE

/// A fault as `NAME[@WHERE][:TIMES]`, for example `lost-response`, `html-page@discovery` or `unavailable@token:2`.
struct FaultArgument {
    private let fault: LocalProvider.Fault
    private let endpoint: LocalProvider.Endpoint
    private let grantType: String?
    private let times: Int?

    init(_ argument: String) throws {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let location = parts[0].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        fault = try Self.value(of: String(location[0]), in: Self.faults.map { ($0.name, $0.fault) }, "fault")
        (endpoint, grantType) = try Self.value(
            of: location.count == 2 ? String(location[1]) : "refresh", in: Self.endpoints, "endpoint")
        times = try parts.dropFirst().first.map { text in
            guard let times = Int(text), times > 0 else {
                throw ValidationError("expected a number of requests above 0, found '\(text)'")
            }
            return times
        }
    }

    /// Causes the fault at a service from now on.
    func begin(at service: some ObservedService) {
        service.fault(fault, at: endpoint, grantType: grantType, times: times)
    }

    private static func value<Value>(of name: String, in values: [(name: String, value: Value)], _ kind: String) throws
        -> Value
    {
        guard let found = values.first(where: { $0.name == name }) else {
            let known = values.map(\.name).joined(separator: ", ")
            throw ValidationError("expected the name of a \(kind), found '\(name)'. There are: \(known)")
        }
        return found.value
    }

    /// The part of the help that lists the names.
    static var help: String {
        let width = faults.map(\.name.count).max() ?? 0
        let lines = faults.map { "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.summary)" }
        return """
            Faults, as NAME[@WHERE][:TIMES]:
            \(lines.joined(separator: "\n"))
            WHERE is \(endpoints.map(\.name).joined(separator: ", ")). The default is refresh: the refreshes at the token \
            endpoint. TIMES is the number of requests; the default is all. Then the next fault of the same WHERE \
            applies.

            Examples:
              --fault lost-response:1
                One refresh loses its response. The app can repeat it for 10 seconds.
              --fault lost-response:1 --grace-period 0
                The same without a grace period: the repeated refresh ends the session.
              --fault unavailable:2 --fault invalid-grant:1
                Two refreshes fail for a while, and the third ends the session.
              --access-token-lifetime 5 --fault slow@refresh --fault server-error@api:1
                Each refresh takes 10 seconds, and the first request to the API fails.
            """
    }

    private static let faults: [(name: String, summary: String, fault: LocalProvider.Fault)] = [
        ("slow", "Responds after 10 seconds.", .delay(.seconds(10))),
        ("drip", "Sends the response byte by byte, 20 a second.", .drip(every: .milliseconds(50))),
        ("cut-off", "Ends the connection after 40 bytes of the response.", .cutOff(after: 40)),
        ("reset", "Processes the request, and resets the connection.", .reset()),
        ("lost-response", "Processes the request, and closes the connection.", .lostResponse),
        ("duplicated-response", "Sends the response twice.", .duplicatedResponse),
        ("endless", "Sends a body that does not end.", .endless),
        ("oversize", "Pads the body to 8 MiB.", .oversize(bytes: 8 << 20)),
        ("invalid-grant", "Responds with the OAuth error invalid_grant.", .oauthError("invalid_grant")),
        (
            "invalid-client", "Responds with the OAuth error invalid_client.",
            .oauthError("invalid_client", .unauthorized)
        ),
        ("server-error", "Responds with status 500.", .status(.internalServerError)),
        ("unavailable", "Responds with status 503 and Retry-After: 5.", .unavailable(retryAfter: 5)),
        ("too-many-requests", "Responds with status 429 and Retry-After: 5.", .tooManyRequests(retryAfter: 5)),
        ("html-page", "Responds with a page instead of JSON.", .htmlPage),
        ("no-refresh-token", "Leaves out the refresh token.", .editDocument { $0["refresh_token"] = nil }),
        ("no-id-token", "Leaves out the ID token.", .editDocument { $0["id_token"] = nil }),
    ]

    private static let endpoints: [(name: String, value: (LocalProvider.Endpoint, grantType: String?))] = [
        ("refresh", (.token, "refresh_token")), ("token", (.token, nil)), ("discovery", (.openIDConfiguration, nil)),
        ("keys", (.keys, nil)), ("authorization", (.authorization, nil)), ("userinfo", (.userInfo, nil)),
        ("device-authorization", (.deviceAuthorization, nil)), ("revocation", (.revocation, nil)),
        ("end-session", (.endSession, nil)), ("api", (.api, nil)),
    ]
}
