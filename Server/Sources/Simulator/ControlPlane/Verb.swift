import AppStoreFormats

/// A named act on a purchase, a family or an organization. It is one row of the table ``all``. Its
/// route and its OpenAPI description are made from the row. A test compares the table with the
/// lists in the docs.
struct Verb: Sendable {
    /// The kind of thing whose id is in the path before the verb.
    enum Subject: String, Hashable, Sendable {
        case subscriptions, transactions, families, organizations
    }

    let subject: Subject
    /// The last part of the path.
    let name: String
    let summary: String
    let fields: [SimulatorRoute.Field]
    /// The schema of the response.
    let schema: String
    /// Carries the verb out. Takes the id in the path, and returns the response.
    let act: @Sendable (AppStoreSimulator, _ id: String, RequestBody) async throws -> JSON

    var route: SimulatorRoute {
        .post(
            "/_sim/\(subject.rawValue)/{id}/\(name)", summary, fields, gives: .json(schema)
        ) { simulator, call in
            .json(try await act(simulator, call.parameter("id"), call.body))
        }
    }
}

extension SimulatorRoute {
    static let verbRoutes = Verb.all.map(\.route)
}

// MARK: - Kinds of rows

extension Verb {
    /// A verb that changes a subscription. The response shows the purchase after the change.
    ///
    /// - Parameter act: reads the body.
    static func subscription(
        _ name: String, _ summary: String, _ fields: [SimulatorRoute.Field] = [],
        _ act: @escaping @Sendable (RequestBody) throws -> SubscriptionAct
    ) -> Self {
        Self(
            subject: .subscriptions, name: name, summary: summary, fields: fields,
            schema: "VerbAnswer"
        ) { simulator, name, body in
            let id = try await simulator.originalTransactionID(named: name)
            return try await simulator.change(id, act(body)).json
        }
    }

    /// A verb that changes one transaction. The response shows the purchase after the change.
    ///
    /// - Parameter act: reads the body.
    static func transaction(
        _ name: String, _ summary: String, _ fields: [SimulatorRoute.Field] = [],
        _ act: @escaping @Sendable (RequestBody) throws -> TransactionAct
    ) -> Self {
        Self(
            subject: .transactions, name: name, summary: summary, fields: fields,
            schema: "VerbAnswer"
        ) { simulator, id, body in
            try await simulator.change(transaction: id, act(body)).json
        }
    }

    /// A verb for a pending purchase. The response shows what was bought, if anything.
    static func pending(_ verb: PendingVerb, _ summary: String) -> Self {
        Self(
            subject: .transactions, name: verb.rawValue, summary: summary, fields: [],
            schema: "SettledPurchase"
        ) { simulator, id, _ in
            guard let bought = try await simulator.resolve(pending: id, verb) else {
                return ["result": "declined"]
            }
            return PurchaseOutcome.purchased(bought).json
        }
    }

    /// A verb for one account of a family.
    static func family(_ verb: FamilyVerb, _ summary: String) -> Self {
        Self(
            subject: .families, name: verb.rawValue, summary: summary,
            fields: [account, environment], schema: "Clock"
        ) { simulator, name, body in
            try await simulator.changeFamily(
                name, verb, account: body.requiredString("account"), in: body.environment())
            return await simulator.clockJSON
        }
    }

    /// A verb for one seat of an organization.
    static func organization(_ verb: OrganizationVerb, _ summary: String) -> Self {
        Self(
            subject: .organizations, name: verb.rawValue, summary: summary,
            fields: [
                account, .init("product_id", "string", "Which subscription."),
                .init("seats", "integer", "How many it buys first; 100 by default."),
                environment,
            ], schema: "Clock"
        ) { simulator, name, body in
            try await simulator.changeOrganization(
                name, verb, body.requiredString("product_id"),
                account: body.requiredString("account"), in: body.environment(),
                seats: body.integer("seats"))
            return await simulator.clockJSON
        }
    }

    static let account = SimulatorRoute.Field("account", "string", "The Apple account's name.")

    private static let environment = SimulatorRoute.Field(
        "environment", "string", "production (default) or sandbox.")
}

// MARK: - Responses

extension VerbOutcome {
    var json: JSON {
        [
            "now": .string(RFC3339.text(now)), "purchase": purchase.json,
            "notifications": .array(notifications.map(\.json)),
        ]
    }
}

extension NotificationDraft {
    /// The notification as listed in a verb's response.
    var json: JSON {
        [
            "type": type.json, "subtype": subtype?.json ?? .null, "uuid": .string(uuid),
            "row": row.map { .integer(Int64($0.rawValue)) } ?? .null,
        ]
    }
}
