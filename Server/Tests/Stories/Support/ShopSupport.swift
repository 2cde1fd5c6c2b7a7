import AppStoreFormats

/// Acts that the stories about support and identity share.
extension Shop {
    var support: Wire { Wire(base: server.base, bearer: Shop.secretKey) }

    /// Buys a month on an account's first device. The App Store notifies the server.
    func buyMonth(_ account: String, token: String? = nil) async throws -> JSON {
        try await addDevice(account, token.map { ["app_account_token": .string($0)] } ?? [:])
        return try await simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": "pro.monthly"])
    }

    /// Posts a purchase as a customer. Returns the status.
    func post(_ bought: JSON, as customer: String) async throws -> Int {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        return try await server.send("POST", "/v1/purchases", body: body.bytes).status
    }

    /// Anna subscribes on her device, and the app posts the receipt as old apps do. Returns the
    /// path of the subscription in the simulator.
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
    /// Makes a purchase name another account in all documents that the App Store signs from now on.
    /// An app's server may request this at Apple. This alone causes no notification.
    func name(_ token: String, in original: String) async throws {
        try await simulator.name(token, in: original)
    }
}

extension Wire {
    /// Makes a purchase name another account, by a request to the simulator.
    func name(_ token: String, in original: String) async throws {
        let body: JSON = ["appAccountToken": .string(token)]
        try await askStore("PUT", "/inApps/v1/transactions/\(original)/appAccountToken", body)
    }

    /// A transaction, newly signed by the App Store.
    func signed(_ transaction: String) async throws -> String {
        let answer = try await askStore("GET", "/inApps/v1/transactions/\(transaction)")
        return try JSON(parsing: answer).text("signedTransactionInfo")
    }

    /// Sends a request to the App Store's API as an app's server does. Returns the response.
    @discardableResult
    private func askStore(
        _ method: String, _ path: String, _ body: JSON? = nil
    ) async throws -> [UInt8] {
        let key = try await get("/_sim/api-token").text("token")
        let answer = try await send(
            method, path, body: body?.bytes, headers: ["Authorization": "Bearer \(key)"])
        guard answer.status == 200 else {
            throw Unexpected(description: "\(method) \(path) answered \(answer.status)")
        }
        return answer.body
    }
}
