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

    /// Anna's device subscribes, and the app posts its receipt as old apps do; the path of the
    /// subscription in the simulator.
    func subscribeByReceipt() async throws -> String {
        try await addDevice(Stage.account)
        let bought = try await simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
        let receipt = try bought.text("app_receipt")
        try await server.post(
            "/v1/purchases", ["customer_id": "anna", "app_receipt": .string(receipt)])
        return "/_sim/subscriptions/anna:pro.monthly"
    }
}

extension Shop {
    /// Lets a purchase name another account in all that the store says of it from now on, as an
    /// app's server may ask the store to. By itself that tells nobody anything.
    func name(_ token: String, in original: String) async throws {
        let key = try await simulator.get("/_sim/api-token").text("token")
        let body: JSON = ["appAccountToken": .string(token)]
        let path = "/inApps/v1/transactions/\(original)/appAccountToken"
        let answer = try await simulator.send(
            "PUT", path, body: body.bytes, headers: ["Authorization": "Bearer \(key)"])
        guard answer.status == 200 else {
            throw Wire.Unexpected(description: "PUT \(path) answered \(answer.status)")
        }
    }
}
