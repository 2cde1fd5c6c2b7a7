import AppStoreFormats

// What happens on devices.

extension SimulatorRoute {
    static let deviceRoutes = [
        post("/_sim/devices", "Adds a device, and its account where that is new.", deviceFields) {
            simulator, call in
            .json(["device_id": .string(try await simulator.addDevice(call.body))])
        },
        post("/_sim/devices/{id}/purchases", "Buys a product.", purchaseFields) {
            simulator, call in
            let body = call.body
            let order = PurchaseOrder(
                try body.requiredString("product_id"), offerID: try body.string("offer"),
                quantity: try body.integer("quantity") ?? 1,
                appAccountToken: try body.string("app_account_token"))
            let bought = try await simulator.purchase(
                order, on: call.parameter("id"), at: body.time("at"))
            return .json([
                "result": "purchased", "signed_transaction": .string(bought.signedTransaction),
                "transaction_id": .string(bought.transactionID),
                "original_transaction_id": .string(bought.originalTransactionID),
                "app_receipt": .string(try await simulator.receipt(on: call.parameter("id"))),
            ])
        },
        post("/_sim/devices/{id}/restore", "What a device sends after restoring purchases.", []) {
            simulator, call in
            let restored = try await simulator.restore(on: call.parameter("id"))
            return .json([
                "signed_transactions": texts(restored.signedTransactions),
                "signed_renewal_infos": texts(restored.signedRenewalInfos),
                "app_receipt": .string(try await simulator.receipt(on: call.parameter("id"))),
            ])
        },
        get("/_sim/devices/{id}/transactions", "All transactions, signed.") { simulator, call in
            let signed = try await simulator.transactions(on: call.parameter("id"))
            return .json(["signed_transactions": texts(signed)])
        },
        get("/_sim/devices/{id}/entitlements", "The transactions that entitle to something now.") {
            simulator, call in
            let signed = try await simulator.entitlements(on: call.parameter("id"))
            return .json(["signed_transactions": texts(signed)])
        },
        get("/_sim/devices/{id}/statuses", "The subscriptions and where they stand.") {
            simulator, call in
            let statuses = try await simulator.statuses(on: call.parameter("id"))
            return .json(["statuses": .array(statuses.map(\.json))])
        },
        get("/_sim/devices/{id}/app-transaction", "The signed statement that the app was had.") {
            simulator, call in
            let signed = try await simulator.appTransaction(on: call.parameter("id"))
            return .json(["signed_app_transaction": .string(signed)])
        },
        get("/_sim/devices/{id}/storefront", "The country's App Store.") { simulator, call in
            let storefront = try await simulator.storefront(of: call.parameter("id"))
            return .json([
                "country_code": .string(storefront.country), "id": .string(storefront.id),
                "currency": .string(storefront.currency),
            ])
        },
    ]

    private static let deviceFields = [
        Field("account", "string", "The Apple account's name, such as anna."),
        Field("environment", "string", "production (default) or sandbox."),
        Field("storefront", "string", "ISO 3166-1 alpha-3; the shop's own, else USA."),
        Field("app_account_token", "string", "A UUID for all purchases of this device."),
        Field("testflight", "boolean", "In the sandbox: everything renews daily, six times."),
        Field("renewal_minutes", "integer", "In the sandbox a month is 3, 5, 15, 30 or 60."),
    ]

    private static let purchaseFields = [
        Field("product_id", "string", "What to buy."),
        Field("offer", "string", "An offer's identifier; none leaves out the introductory one."),
        Field("quantity", "integer", "1 to 10."),
        Field("app_account_token", "string", "A UUID of the app's choosing."),
        Field("at", "string", "A later time, to which the clock then moves."),
    ]

    static func texts(_ texts: [String]) -> JSON { .array(texts.map { .string($0) }) }
}

extension SignedStatus {
    fileprivate var json: JSON {
        [
            "original_transaction_id": .string(originalTransactionID),
            "status": .integer(status.rawValue),
            "signed_transaction": .string(signedTransaction),
            "signed_renewal_info": .string(signedRenewalInfo),
        ]
    }
}

extension AppStoreSimulator {
    /// Characters of an account's name.
    private static let nameLengthMax = 64

    fileprivate func addDevice(_ body: RequestBody) async throws -> String {
        let name = try body.requiredString("account")
        let allowed = name.allSatisfy { $0.isLetter || $0.isNumber || "._@+-".contains($0) }
        guard allowed, name.count <= Self.nameLengthMax else {
            throw RequestBody.wrong("account", "a name of letters, digits and ._@+-")
        }
        let word = try body.string("environment") ?? SimulatedEnvironment.production.rawValue
        guard let environment = SimulatedEnvironment(rawValue: word) else {
            throw RequestBody.wrong("environment", "production or sandbox")
        }
        return try await addDevice(
            account: name, environment: environment, storefront: body.string("storefront"),
            appAccountToken: body.string("app_account_token"),
            pace: environment == .sandbox ? SimulatorRoute.pace(body) : nil)
    }
}
