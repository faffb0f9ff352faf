internal import Foundation
public import FoundationNetworking
internal import HTTPTypes

extension Dialect {
    /// Adds the header fields of a request to every token request, before ``tokenRequest`` changes it.
    ///
    /// Method, body and `Content-Type` of the given request have no effect: a token request is a POST with a form
    /// (RFC 6749 §4, §6). Its `Authorization` has none if the client authenticates with that field.
    public mutating func addFields(of request: URLRequest) {
        let fields = (request.allHTTPHeaderFields ?? [:]).compactMap { name, value in
            HTTPField.Name(name).map { HTTPField(name: $0, value: value) }
        }
        let adjust = tokenRequest
        tokenRequest = { form, sent, client in
            for field in fields where field.name != .authorization || sent[.authorization] == nil {
                sent[field.name] = field.value
            }
            adjust(&form, &sent, client)
        }
    }
}
