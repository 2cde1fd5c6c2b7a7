import AppStoreFormats

// Actions on devices.

extension SimulatorRoute {
    static let deviceRoutes = [
        post(
            "/_sim/devices", "Adds a device, and its account if that is new.", deviceFields,
            gives: .json("DeviceName")
        ) { simulator, call in
            .json(["device_id": .string(try await simulator.addDevice(call.body))])
        },
        post(
            "/_sim/devices/{id}/account", "Signs another account in on a device.",
            [
                Field("account", "string", "The Apple account's name, new or existing."),
                Field("storefront", "string", "ISO 3166-1 alpha-3; unchanged if absent."),
            ], gives: .json("DeviceName")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.signIn(
                name(call.body), on: id, storefront: call.body.string("storefront"))
            return .json(["device_id": .string(id)])
        },
        post(
            "/_sim/devices/{id}/purchases", "Buys a product.", PurchaseOrder.fields,
            gives: .json("PurchaseOutcome")
        ) { simulator, call in
            .json(try await simulator.purchaseJSON(call))
        },
        post(
            "/_sim/devices/{id}/restore", "What a device sends after restoring purchases.", [],
            gives: .json("RestoredPurchases")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.check(.sync, on: id)
            let restored = try await simulator.restore(on: id)
            let (transactions, renewals) = (
                restored.signedTransactions, restored.signedRenewalInfos
            )
            return .json([
                "signed_transactions": texts(transactions),
                "verifications": await simulator.verdicts(on: transactions, by: id),
                "signed_renewal_infos": texts(renewals),
                "renewal_verifications": await simulator.verdicts(on: renewals, by: id),
                "app_receipt": .string(try await simulator.receipt(on: id)),
            ])
        },
        get(
            "/_sim/devices/{id}/transactions", "All transactions, signed.",
            gives: .json("TransactionHistory")
        ) { simulator, call in
            .json(try await simulator.historyJSON(on: call.parameter("id")))
        },
        get(
            "/_sim/devices/{id}/entitlements", "The transactions that grant access now, signed.",
            gives: .json("SignedTransactions")
        ) { simulator, call in
            let signed = try await simulator.entitlements(on: call.parameter("id"))
            return .json(await simulator.json(of: signed, on: try call.parameter("id")))
        },
        get(
            "/_sim/devices/{id}/unfinished", "The transactions that the app has not finished yet.",
            gives: .json("SignedTransactions")
        ) { simulator, call in
            let signed = try await simulator.unfinished(on: call.parameter("id"))
            return .json(await simulator.json(of: signed, on: try call.parameter("id")))
        },
        get(
            "/_sim/devices/{id}/updates", "Streams updates from now on as server-sent events.",
            query: ["limit"], gives: .events
        ) { simulator, call in
            .events(
                try await simulator.updateStream(
                    on: call.parameter("id"), limit: limit(call), after: call.lastEventID))
        },
        post(
            "/_sim/devices/{id}/transactions/{transaction_id}/finish",
            "Marks a transaction as finished by the app.", [], gives: .json("Finished")
        ) { simulator, call in
            try await simulator.finish(
                call.parameter("transaction_id"), on: call.parameter("id"))
            return .json(["result": "finished"])
        },
        get(
            "/_sim/devices/{id}/statuses", "The subscriptions and their status.",
            query: ["group"], gives: .json("SignedStatuses")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.check(.status, on: id)
            let statuses = try await simulator.statuses(on: id, group: call.query["group"])
            var list: [JSON] = []
            for status in statuses { list.append(await simulator.json(of: status, on: id)) }
            return .json(["statuses": .array(list)])
        },
        get(
            "/_sim/devices/{id}/app-transaction", "The signed app transaction.",
            gives: .json("SignedAppTransaction")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.check(.appTransaction, on: id)
            return .json(try await simulator.appTransactionJSON(on: id))
        },
        get(
            "/_sim/devices/{id}/storefront", "The device's storefront.",
            gives: .json("Storefront")
        ) { simulator, call in
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
        Field("storefront", "string", "ISO 3166-1 alpha-3; by default the shop's, else USA."),
        Field("app_account_token", "string", "A UUID for all purchases of this device."),
        Field("family", "string", "The family that the account joins."),
        Field("ask_to_buy", "boolean", "Whether the account's purchases wait for a parent."),
        Field("testflight", "boolean", "Sandbox only: everything renews daily, six times."),
        Field("renewal_minutes", "integer", "Sandbox only: minutes per month: 3, 5, 15, 30 or 60."),
    ]

    /// The number of events after which the stream ends. Nil means no limit.
    private static func limit(_ call: Call) throws(SimulatorProblem) -> Int? {
        guard let text = call.query["limit"] else { return nil }
        guard let limit = Int(text), limit > 0 else {
            throw RequestBody.invalidField("limit", "a number from 1")
        }
        return limit
    }

    static func texts(_ texts: [String]) -> JSON { .array(texts.map { .string($0) }) }
}

extension SimulatorRoute {
    /// Maximum number of characters of an account's name.
    private static let nameLengthMax = 64

    fileprivate static func name(_ body: RequestBody) throws(SimulatorProblem) -> String {
        let name = try body.requiredString("account")
        let allowed = name.allSatisfy { $0.isLetter || $0.isNumber || "._@+-".contains($0) }
        guard allowed, name.count <= nameLengthMax else {
            throw RequestBody.invalidField("account", "a name of letters, digits and ._@+-")
        }
        return name
    }
}

extension AppStoreSimulator {
    fileprivate func addDevice(_ body: RequestBody) async throws -> String {
        let name = try SimulatorRoute.name(body)
        let environment = try body.environment()
        return try await addDevice(
            account: name, environment: environment, storefront: body.string("storefront"),
            appAccountToken: body.uuid("app_account_token"),
            pace: environment == .sandbox ? SimulatorRoute.pace(body) : nil,
            family: body.string("family"), asksToBuy: body.bool("ask_to_buy"))
    }
}
