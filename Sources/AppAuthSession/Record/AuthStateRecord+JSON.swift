internal import AppAuthProtocol
internal import JOSE

extension AuthStateRecord {
    private static let format = "swift-appauth session"
    /// The versions that this library reads. Only a session whose key a provider makes and uses has version 2: libraries
    /// that know no such keys refuse it, and say so.
    private static let versions = 1...2
    private var version: Int { client.dpopKeyProvider == nil && proofKey?.provider == nil ? 1 : 2 }

    /// The record as JSON, with dates in seconds since 1970.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` for a date that is not a number of seconds.
    public func encoded() throws -> [UInt8] {
        var json: JSON.Object = [
            "format": .string(Self.format), "version": .number(.init(version)), "id": .string(id),
            "client": client.stored, "scope": .array(scope.map { .string($0.rawValue) }),
        ]
        if !withheldScope.isEmpty { json["withheldScope"] = .array(withheldScope.map { .string($0.rawValue) }) }
        if !resources.isEmpty { json["resources"] = .array(resources.map(JSON.string)) }
        json["profile"] = profileID.map(JSON.string)
        json["registration"] = try client.registration?.stored
        json["accessToken"] = try accessToken?.stored
        json["refreshToken"] = refreshToken.map(JSON.init(storing:))
        json["announced"] = try announced.stored
        json["grant"] = grant?.stored
        if !authorizationDetails.isEmpty { json["authorizationDetails"] = authorizationDetails.json }
        json["additionalParameters"] = additional.map(JSON.init(storing:))
        json["proofKey"] = proofKey?.stored
        json["proofNonce"] = proofNonce.map(JSON.string)
        json["verifiedIDToken"] = verifiedIDToken.map(JSON.init(storing:))
        json["nonce"] = nonce.map(JSON.init(storing:))
        json["redirectURI"] = redirectURI.map(JSON.string)
        json["keys"] = try keys.map { ["document": $0.document, "term": try $0.term.stored] }
        if !otherTokens.isEmpty { json["otherTokens"] = .array(try otherTokens.map { try $0.stored(with: $1) }) }
        json["backoff"] = try backoff?.stored
        json["unverifiedIDToken"] = try unverifiedIDToken?.stored
        if hasRefreshed { json["hasRefreshed"] = true }
        json["refreshHasScope"] = refreshForm.hasScope.map(JSON.bool)
        if !refreshForm.hasResources { json["refreshHasNoResources"] = true }
        json["end"] = try end.map { ["reason": .string($0.reason), "date": try JSON(storing: $0.date)] }
        return Array(JSON.object(json).serialized().utf8)
    }

    /// Decodes a record.
    ///
    /// - Parameters:
    ///   - bytes: The encoded record.
    ///   - location: The location of the record, for the error message.
    /// - Throws: ``AuthError`` with ``StoreProblem/damaged`` unless the bytes are a complete record of a known version.
    public init(decoding bytes: [UInt8], from location: String) throws {
        func refusal(_ why: String) -> AuthError {
            .damagedStore(location, why)
        }
        // JSON from servers is nested two levels deeper here.
        guard let json = try? JSON(parsing: bytes, maximumDepth: 66), json["format"]?.string == Self.format,
            let version = json["version"]?.int
        else { throw refusal("is damaged or does not hold a session") }
        guard Self.versions.contains(version) else {
            throw refusal("holds a session of version \(version), expected version \(Self.versions.upperBound)")
        }
        // An earlier build has moved the session, or is doing so: this may be a copy whose refresh token is used up.
        guard json["move"] == nil else { throw refusal("holds a session on its way to another store") }
        do { try self.init(stored: StoredObject(json)) } catch { throw refusal("holds a damaged session") }
    }

    private init(stored json: StoredObject) throws {
        id = try json.string("id")
        profileID = try json.optional("profile") { try $0.string($1) }
        client = try Client(stored: json.object("client"))
        client.registration = try json.optional("registration") { try ClientRegistration(stored: $0.object($1)) }
        scope = try json.strings("scope").map(Scope.init(rawValue:))
        withheldScope = try json.optional("withheldScope") { try $0.strings($1).map(Scope.init(rawValue:)) } ?? []
        resources = try json.optional("resources") { try $0.strings($1) } ?? []
        accessToken = try json.optional("accessToken") { try AccessToken(stored: $0.object($1)) }
        refreshToken = try json.optional("refreshToken") { try $0.secret($1) }
        announced = try json.optional("announced") { try AnnouncedEnds(stored: $0.object($1)) } ?? AnnouncedEnds()
        grant = try json.optional("grant") { try TokenGrant(stored: $0.object($1)) }
        authorizationDetails =
            try json.optional("authorizationDetails") { try $0.value($1).array?.map(AuthorizationDetail.init) ?? [] }
            ?? []
        additional = try json.optional("additionalParameters") { try $0.secret($1) }
        proofKey = try json.optional("proofKey") { try DPoPKey(stored: $0.object($1)) }
        proofNonce = try json.optional("proofNonce") { try $0.string($1) }
        verifiedIDToken = try json.optional("verifiedIDToken") { try $0.secret($1) }
        nonce = try json.optional("nonce") { try $0.secret($1) }
        redirectURI = try json.optional("redirectURI") { try $0.string($1) }
        keys = try json.optional("keys") {
            let keys = try $0.object($1)
            return KeySetCache.Entry(
                document: try keys.value("document"), term: try Term(stored: keys.object("term")))
        }
        for entry in try json.optional("otherTokens", { try $0.objects($1) }) ?? [] {
            otherTokens[try TokenParameters(stored: entry)] = try AccessToken(stored: entry.object("token"))
        }
        backoff = try json.optional("backoff") { try RefreshBackoff(stored: $0.object($1)) }
        unverifiedIDToken = try json.optional("unverifiedIDToken") { try RefreshBackoff(stored: $0.object($1)) }
        hasRefreshed = try json.optional("hasRefreshed") { try $0.bool($1) } ?? false
        refreshForm.hasScope = try json.optional("refreshHasScope") { try $0.bool($1) }
        refreshForm.hasResources = try json.optional("refreshHasNoResources") { try !$0.bool($1) } ?? true
        end = try json.optional("end") {
            let end = try $0.object($1)
            return End(reason: try end.string("reason"), date: try end.date("date"))
        }
    }
}
