internal import HTTPTypes
internal import JOSE

/// The endpoint `GET /v1/products`, with a bearer token.
struct MoltinProducts: Sendable {
    let tokens: MoltinTokens

    func respond(to request: Request) throws(MoltinFailure) -> Reply {
        guard request.method == .get else { throw MoltinFailure(.methodNotAllowed, "Expected GET") }
        let fields = request.headers[values: .authorization]
        // A missing token gets the same response as an invalid one.
        guard fields.count == 1, let field = fields.first, field.hasPrefix("Bearer "),
            tokens.isAlive(String(field.dropFirst("Bearer ".count)))
        else { throw .deadToken }
        return .json([
            "status": true, "result": .array(Self.products),
            "pagination": [
                "total": .number(.init(Self.products.count)), "current": .number(.init(Self.products.count)),
            ],
        ])
    }

    /// The members of a product are the double's choice.
    private static let products: [JSON] = [
        ["id": "1001", "title": "Teapot", "slug": "teapot", "price": ["value": "£18.00"], "stock_level": 12],
        ["id": "1002", "title": "Top hat", "slug": "top-hat", "price": ["value": "£10.60"], "stock_level": 3],
        [
            "id": "1003", "title": "Pocket watch", "slug": "pocket-watch", "price": ["value": "£42.00"],
            "stock_level": 0,
        ],
    ]
}
