internal import HTTPTypes

extension TransportResponse {
    /// Returns the response with the members of its JSON object changed, if it is a success. Other responses are
    /// returned unchanged.
    func changingMembers(_ change: (inout JSON.Object) -> Void) -> TransportResponse {
        guard status == .ok, var members = (try? parsedBody)?.object else { return self }
        change(&members)
        var response = self
        response.body = Array(JSON.object(members).serialized().utf8)
        return response
    }
}
