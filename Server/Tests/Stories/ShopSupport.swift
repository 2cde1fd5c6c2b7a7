import AppStoreFormats

/// What stories of support and of identity do again and again.
extension Shop {
    var support: Wire { Wire(base: server.base, bearer: Shop.secretKey) }

    /// Buys a month on an account's first device. The store tells the server.
    func buyMonth(_ account: String, token: String? = nil) async throws -> JSON {
        try await addDevice(account, token.map { ["app_account_token": .string($0)] } ?? [:])
        return try await simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": "pro.monthly"])
    }

    /// Posts what was bought as a customer. Returns the status.
    func post(_ bought: JSON, as customer: String) async throws -> Int {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        return try await server.send("POST", "/v1/purchases", body: body.bytes).status
    }
}
