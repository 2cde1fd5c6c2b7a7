import Engine
import Foundation
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// What the server says of itself is what it does.
@Suite struct OpenAPITests {
    private func document(of server: TestServer) async throws -> [String: Any] {
        let text = try await server.send(.get, Paths.openAPI, key: nil).text
        return try #require(
            JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func operations(
        in document: [String: Any]
    ) throws -> [(method: HTTPRequest.Method, path: String, operation: [String: Any])] {
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        return try paths.flatMap { path, operations in
            try operations.map { name, operation in
                let method = try #require(HTTPRequest.Method(rawValue: name.uppercased()))
                return (method: method, path: path, operation: operation)
            }
        }
    }

    @Test func `every route is described, and every description is a route`() async throws {
        try await TestServer.run { server in
            let described = try operations(in: await document(of: server)).map {
                "\($0.method) \($0.path)"
            }
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
                .map { "\($0.method) \($0.path)" }
            #expect(Set(described) == Set(routes))
            #expect(described.count == routes.count)
        }
    }

    @Test func `every described route answers as it says`() async throws {
        try await TestServer.run { server in
            _ = try await server.engine.grant(
                NewGrant(entitlement: "pro", reason: "sorry"), to: "dora", app: "birds",
                environment: .production)
            for (method, path, operation) in try operations(in: await document(of: server)) {
                let real = path.replacing("{id}", with: "anna")
                    .replacing("{currency}", with: "gems")
                    .replacing("{content_id}", with: "first")
                    .replacing("{transfer_id}", with: "trf_1")
                    .replacing("{original_transaction_id}", with: "1000")
                    .replacing("{grant_id}", with: "grt_1")
                // A stream ends after so many events.
                let end = path == Paths.eventStream ? "?limit=1" : ""
                let answer = try await server.send(
                    method, real + end, key: TestServer.secret,
                    body: method == .post ? #"{"customer_id": "cleo"}"# : nil)
                let responses = try #require(operation["responses"] as? [String: Any])
                #expect(![405, 500].contains(answer.status), "\(method) \(path)")
                if answer.status == 404 {
                    #expect(try answer.problem.code != .routeUnknown, "\(method) \(path)")
                }
                #expect(
                    responses["\(answer.status)"] != nil || responses["default"] != nil,
                    "\(method) \(path) answered \(answer.status)")
                let withoutKey = try await server.send(method, real, key: nil, body: "{}")
                #expect((withoutKey.status == 401) == (operation["security"] != nil), "\(path)")
            }
        }
    }

    @Test func `the description is encoded once, and sent only to those who have it not`()
        async throws
    {
        try await TestServer.run { server in
            let first = try await server.send(.get, Paths.openAPI, key: nil)
            let tag = try #require(first.headers[.eTag])
            let again = try await server.send(.get, Paths.openAPI + "?pretty", key: nil)
            #expect(again.text == first.text)
            #expect(again.headers[.eTag] == tag)
            let known = try await server.send(
                .get, Paths.openAPI, key: nil, headers: [.ifNoneMatch: tag])
            #expect(known.status == 304)
            #expect(known.text.isEmpty)
        }
    }

    /// The schemas of all customer ids that a client sends: as parameters, and in bodies.
    private static func customerIDs(in document: [String: Any]) -> [[String: Any]] {
        var found: [[String: Any]] = []
        let paths = document["paths"] as? [String: [String: [String: Any]]] ?? [:]
        for operation in paths.values.flatMap(\.values) {
            for parameter in operation["parameters"] as? [[String: Any]] ?? []
            where ["id", "alias", "customer_id"].contains(parameter["name"] as? String) {
                found.append(parameter["schema"] as? [String: Any] ?? [:])
            }
        }
        let components = document["components"] as? [String: Any]
        let schemas = components?["schemas"] as? [String: [String: Any]] ?? [:]
        for (name, schema) in schemas where name.hasSuffix("Request") {
            let properties = schema["properties"] as? [String: [String: Any]]
            if let id = properties?["customer_id"] { found.append(id) }
        }
        return found
    }

    @Test func `a customer's id is described as the server accepts it`() async throws {
        let long = String(repeating: "a", count: 255)
        try await TestServer.run { server in
            let found = Self.customerIDs(in: try await document(of: server))
            #expect(found.count > 30)
            for schema in found {
                #expect(schema["minLength"] as? Int == 1)
                #expect(schema["maxLength"] as? Int == 255)
                #expect(schema["pattern"] as? String == OpenAPI.customerIDPattern)
            }
            let pattern = try Regex(OpenAPI.customerIDPattern)
            for id in [
                "anna", "a b", "a  b", " a", "a ", "a\u{A0}b", "a\u{2003}b", "ä", "\u{7F}", "\u{85}",
                "a\tb", "安娜", "👩‍👩‍👧‍👦", "a\u{200B}b", long, long + "a", "a/b", "[U+200B]",
            ] {
                let answer = try await server.send(.get, Paths.customer(id))
                let isDescribed =
                    id.wholeMatch(of: pattern) != nil && id.unicodeScalars.count <= 255
                #expect((answer.status == 200) == isDescribed, "\(id.debugDescription)")
            }
        }
    }

    @Test func `the texts of bodies have limits`() async throws {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            for (name, member) in [
                ("GrantRequest", "reason"), ("OwnershipRequest", "reason"),
                ("DebitRequest", "reason"), ("CreditRequest", "reason"),
                ("WebhookRequest", "url"), ("ConfigurationPreviewRequest", "configuration"),
            ] {
                let properties = schemas[name]?["properties"] as? [String: [String: Any]]
                let limit = try #require(properties?[member]?["maxLength"] as? Int, "\(name)")
                // One more is refused, by the route or because the whole body is too large.
                #expect(limit > 0 && limit < BodyLimit.configuration)
            }
            #expect(Set(OpenAPI.textLimits.keys.map { $0.prefix { $0 != "." } }.map(String.init))
                .isSubset(of: Set(schemas.keys)))
        }
    }

    @Test func `every reference leads somewhere`() async throws {
        try await TestServer.run { server in
            let text = try await server.send(.get, Paths.openAPI).text
            let document = try await document(of: server)
            let references = text.matches(of: /"\$ref": "#\/([^"]+)"/).map { String($0.1) }
            #expect(references.count > 20)
            for reference in Set(references) {
                let target = reference.split(separator: "/").reduce(document as Any?) {
                    ($0 as? [String: Any])?[String($1)]
                }
                #expect(target != nil, "\(reference)")
            }
        }
    }

    @Test func `the schemas have exactly the members of the contract`() async throws {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            for (name, value) in try Self.samples() {
                let properties = try #require(schemas[name]?["properties"] as? [String: Any])
                #expect(Set(properties.keys) == Set(value.keys), "\(name)")
            }
        }
    }

    @Test func `an answer has every member, and only those that may be are null`() async throws {
        try await TestServer.run { server in
            let components = try #require(
                try await document(of: server)["components"] as? [String: Any])
            let schemas = try #require(components["schemas"] as? [String: [String: Any]])
            // Sent by clients, too, or as RFC 9457 has it.
            let others = ["PurchaseUse", "Problem"]
            for (name, value) in try Self.samples()
            where !name.hasSuffix("Request") && !others.contains(name) {
                let schema = try #require(schemas[name])
                let required = try #require(schema["required"] as? [String])
                #expect(Set(required) == Set(value.keys), "\(name)")
                for (member, value) in value where value is NSNull {
                    let properties = schema["properties"] as? [String: [String: Any]]
                    #expect(Self.mayBeNull(properties?[member] ?? [:]), "\(name).\(member)")
                }
            }
        }
    }

    private static func mayBeNull(_ schema: [String: Any]) -> Bool {
        let choices = schema["anyOf"] as? [[String: Any]] ?? []
        return (schema["type"] as? [String])?.contains("null") == true
            || (schema["enum"] as? [Any])?.contains { $0 is NSNull } == true
            || choices.contains { $0["type"] as? String == "null" }
    }

    @Test func `how many are asked for is a number everywhere, and who is looked for is needed`()
        async throws
    {
        try await TestServer.run { server in
            let document = try await document(of: server)
            let parameters = try operations(in: document)
                .flatMap { $0.operation["parameters"] as? [[String: Any]] ?? [] }
            let queries = parameters.filter { $0["name"] as? String == "query" }
            #expect(queries.map { $0["required"] as? Bool } == [true])
            let limits = parameters.filter { $0["name"] as? String == "limit" }
            #expect(limits.count == 11)
            for limit in limits {
                let schema = try #require(limit["schema"] as? [String: Any])
                #expect(schema["type"] as? String == "integer")
                #expect(schema["minimum"] as? Int == 1 && schema["maximum"] is Int)
            }
        }
    }

    /// One of each structure, as JSON: requests with nothing left out, answers with every null.
    private static func problem(at now: Timestamp) -> Problem {
        var problem = Problem(
            code: .keyMissing, status: 401, title: "t", detail: "d", remedy: "r",
            requestID: "i", serverTime: now)
        problem.outcomes = []
        problem.customer = Customer(customerID: "a", environment: .sandbox, asOf: now)
        return problem
    }

    private static func samples() throws -> [(String, [String: Any])] {
        let now = Timestamp(TestServer.now)
        let values: [(String, any Encodable)] = [
            (
                "PurchasesRequest",
                PurchasesRequest(
                    customerID: "a", intent: .sync, signedTransactions: [], signedRenewalInfos: [],
                    appReceipt: "", transactionReceipt: "", deviceGUID: "")
            ),
            ("ContentList", ContentList(items: [])),
            (
                "Content",
                Content(
                    contentID: "1", title: "", publishedAt: now, readable: true, reason: "",
                    productIDs: [])
            ),
            ("AliasRequest", AliasRequest(customerID: "a")),
            (
                "PreviewRequest",
                PreviewRequest(
                    customerID: "a", intent: .sync, signedTransactions: [], signedRenewalInfos: [],
                    appReceipt: "", transactionReceipt: "", deviceGUID: "", productID: "p")
            ),
            (
                "PurchasePreview",
                PurchasePreview(
                    customerID: "a", environment: .sandbox, purchases: [],
                    product: nil)
            ),
            (
                "Shown",
                PurchasePreview.Shown(
                    purchaseID: "1", originalTransactionID: "1", productID: nil, active: true,
                    owner: "nobody", ownerID: nil, outcome: "link", why: nil)
            ),
            ("Advice", PurchasePreview.Advice(productID: "p", buy: true, why: nil)),
            ("OwnershipRequest", OwnershipRequest(originalTransactionID: "1", reason: "r")),
            (
                "Transfer",
                Transfer(
                    transferID: nil, originalTransactionID: "1", environment: .sandbox, to: "a")
            ),
            ("TransferList", TransferList(items: [])),
            ("Block", Block(originalTransactionID: "1", blocked: true)),
            ("GrantRequest", GrantRequest(entitlement: "e", until: now, reason: "r")),
            (
                "Grant",
                Grant(
                    grantID: "g", entitlement: "e", from: now, until: nil, reason: "r",
                    withdrawnAt: nil)
            ),
            ("GrantList", GrantList(items: [])),
            ("History", History(items: [], nextCursor: nil)),
            (
                "HistoryLine",
                History.Line(
                    at: now, kind: "fact", sentence: "s", purchaseID: nil, documentID: nil,
                    reference: nil)
            ),
            ("CustomerList", CustomerList(items: [], originalTransactionIDs: nil)),
            (
                "FoundCustomer",
                CustomerList.Found(customerID: nil, aliases: [], by: "id", purchaseID: nil)
            ),
            ("Erasure", Erasure(unlinkedPurchases: 1)),
            (
                "Customer",
                Customer(customerID: "a", environment: .sandbox, asOf: now)
            ),
            (
                "PurchaseVerdict",
                PurchaseVerdict(purchaseID: "1", originalTransactionID: "1", verdict: .theirs)
            ),
            (
                "DocumentOutcome",
                DocumentOutcome(member: "signed_transactions", index: 0, outcome: .kept)
            ),
            ("AccountToken", AccountToken(accountToken: nil)),
            (
                "Explanation",
                Explanation(
                    customerID: "a", environment: .sandbox, lines: [], serverTime: now)
            ),
            (
                "Ping",
                Ping(
                    keyKind: "app", app: "a", bundleID: "b", simulated: true, environments: [],
                    unknownProductIDs: nil, serverVersion: "1", serverTime: now)
            ),
            ("OfferList", OfferList(items: [])),
            (
                "CustomerOffer",
                OfferList.Offer(
                    productID: "p", kind: "k", offerID: nil, eligible: true, why: "w", reason: "r")
            ),
            (
                "OfferSignatureRequest",
                OfferSignatureRequest(
                    customerID: "a", productID: "p", kind: "k", offerID: "o",
                    appAccountToken: "t", transactionID: "1")
            ),
            (
                "Offerings",
                Offerings(
                    app: "a", bundleID: "b", environment: .sandbox, timeZone: "UTC",
                    overlap: "stack", unconfirmedHoldHours: 24, offlineDays: 30)
            ),
            ("OfferedProduct", Offerings.Product(productID: "p")),
            ("OfferedTerm", Offerings.Term(months: 1, days: 0, bonusDays: 0, chain: "c")),
            ("Placement", Offerings.Placement(placementID: "p", products: [])),
            (
                "WalletPermission",
                Offerings.Wallet(spend: "app", maxOffline: nil, allowsDebt: false)
            ),
            ("OfferSignature", OfferSignature(keyID: "k", nonce: "n", at: now)),
            ("TokenKeySet", TokenKeySet(keys: [])),
            ("TokenKey", TokenKeySet.Key(id: "k", x: "x", y: "y")),
            (
                "Entitlement",
                Entitlement(
                    active: true, until: nil, state: .paid, reason: "", willRenew: nil,
                    productID: nil, purchaseID: nil)
            ),
            (
                "Subscription",
                Subscription(
                    purchaseID: "1", productID: "p", originalTransactionID: "1", state: .paid,
                    period: .init(from: now, until: nil), willRenew: nil, renewsTo: nil,
                    graceUntil: nil, price: nil, ownership: .purchased, environment: .sandbox)
            ),
            ("Period", Subscription.Period(from: now, until: nil)),
            (
                "NonRenewing",
                NonRenewing(
                    productID: "p", from: now, until: nil, daysRemaining: nil)
            ),
            (
                "OneTimePurchase",
                OneTimePurchase(
                    productID: "p", purchasedAt: now, revokedAt: nil)
            ),
            ("Wallet", Wallet(balance: 1)),
            ("DebitRequest", DebitRequest(amount: 1, reason: "r")),
            (
                "Debit",
                Debit(
                    debitID: "d", currency: "gems", amount: 1, reason: "r", at: now, balance: 1)
            ),
            ("CreditRequest", CreditRequest(amount: 1, reason: "r")),
            (
                "Credit",
                Credit(
                    creditID: "c", currency: "gems", amount: 1, reason: "r", at: now, balance: 1)
            ),
            (
                "WalletStatement",
                WalletStatement(currency: "gems", balance: 1, items: [], nextCursor: nil)
            ),
            (
                "WalletItem",
                WalletStatement.Line(at: now, kind: .debit, amount: 1, balance: 1)
            ),
            ("Money", Money(milliunits: 1, currency: "USD")),
            ("EventList", EventList(items: [], nextCursor: "0")),
            ("WebhookList", WebhookList(items: [])),
            (
                "Webhook",
                Webhook(
                    webhookID: "w", url: "u", format: .perennial, hasAuthorization: false,
                    isConfigured: false, isPaused: false, createdAt: now)
            ),
            ("WebhookReplayResult", WebhookReplayResult(count: 0)),
            ("WebhookDeliveryList", WebhookDeliveryList(items: [])),
            (
                "WebhookDelivery",
                WebhookDelivery(
                    deliveryID: "d", type: "test", state: .waiting, createdAt: now, attempts: 0)
            ),
            ("WebhookAttempt", WebhookAttempt(at: now, milliseconds: 1)),
            ("ForwardList", ForwardList(items: [], nextCursor: nil)),
            ("AuditList", AuditList(items: [], nextCursor: nil)),
            ("AuditEntry", AuditEntry(auditID: "a", at: now, author: "mira", act: "x")),
            (
                "Forward",
                Forward(
                    documentID: "d", url: "u", environment: .sandbox, state: .waiting,
                    createdAt: now, attempts: 0)
            ),
            (
                "Event",
                Event(
                    id: "evt_1", sequence: 1, type: .renewed, at: now, knownAt: now,
                    cause: .init(kind: "time"))
            ),
            ("Cause", Event.Cause(kind: "time")),
            ("TermEnding", TermEnding(chain: "c", from: now, until: now, daysBefore: 1)),
            (
                "ConsumptionRequest",
                ConsumptionRequest(consented: true, sampleContentProvided: true, purchases: [])
            ),
            (
                "PurchaseUse",
                PurchaseUse(transactionID: "1", delivery: "delivered", usedPercent: 1)
            ),
            (
                "ConsumptionOverview",
                ConsumptionOverview(
                    consented: nil, consentedAt: nil, sampleContentProvided: nil, purchases: [],
                    requests: [])
            ),
            (
                "ConsumptionQuestion",
                ConsumptionQuestion(
                    transactionID: "1", productID: "p", reason: nil, askedAt: now,
                    answerUntil: now, state: "waiting", attempts: 0, endedAt: nil, trouble: nil,
                    answer: nil)
            ),
            (
                "ConsumptionAnswer",
                ConsumptionAnswer(
                    delivery: "delivered", usedPercent: nil, sampleContentProvided: true,
                    refundPreference: nil)
            ),
            (
                "PurchaseCondition",
                PurchaseCondition(
                    productID: "p", active: true, state: .paid, until: nil, willRenew: nil)
            ),
            ("RedeemedOffer", RedeemedOffer(kind: "code")),
            (
                "Problem",
                problem(at: now)
            ),
        ]
        return try (values + DocumentSamples.values(at: now)).map { name, value in
            let encoded = Data(try ContractEncoder().encode(value))
            let object = try JSONSerialization.jsonObject(with: encoded)
            return (name, try #require(object as? [String: Any]))
        }
    }
}
