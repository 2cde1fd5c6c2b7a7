import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Testing

/// The people of one row, each by a name of the row's own; and what they do.
private struct RestoreStage: Sendable {
    let shop: Shop
    let row: RestoreRow
    let number: Int

    var support: Wire { Wire(base: shop.server.base, bearer: Shop.secretKey) }

    func id(_ person: String) -> String { "\(person)-\(number)" }

    private var person: [String] { ["anna", "ben", "cleo"] }

    /// Its last digits are the row's.
    private var token: String {
        let digits = String(number)
        return "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f".dropLast(digits.count) + digits
    }

    private var product: String {
        switch row.path {
        case .usedUp, .usedUpUnknown, .usedUpUnspent, .usedUpSpent: "seeds.100"
        default: "pro.monthly"
        }
    }

    private var hasToken: Bool {
        switch row.path {
        case .token, .tokenUnheard, .tokenUpper, .tokenDiffers, .tokenLater, .tokenUnknown,
            .tokenUnknownLinked, .usedUpUnknown, .usedUpUnspent, .usedUpSpent:
            true
        default: false
        }
    }

    /// Returns the purchase's number, and what ben's device will show.
    func prepare() async throws -> (original: String, shown: [String]) {
        let account = id("account")
        try await shop.addDevice(
            account, hasToken ? ["app_account_token": .string(token)] : [:])
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)])
        let original = try bought.text("original_transaction_id")
        let signed = [try bought.text("signed_transaction")]
        switch row.path {
        case .purchase, .usedUp: try await anna(posts: signed)
        case .restore:
            try await anna(posts: signed)
            try await shop.addDevice(account)
            let restored = try await shop.simulator.post("/_sim/devices/\(account)-2/restore")
            return (
                original, (restored["signed_transactions"]?.array ?? []).compactMap(\.string)
            )
        case .refunded:
            try await anna(posts: signed)
            try await shop.simulator.post("/_sim/subscriptions/\(original)/refund")
        case .notification, .tokenUnknown, .usedUpUnknown: break
        case .alias:
            _ = try await post(signed, as: id("phone"))
            try await alias(id("phone"), to: "anna")
        case .token:
            try await alias(token, to: "anna")
            try await anna(posts: signed)
        case .tokenUnheard: try await alias(token, to: "anna")
        case .tokenUpper: try await alias(token.uppercased(), to: "anna")
        case .tokenDiffers:
            try await annaPostsBefore(signed)
            try await alias(token, to: "cleo")
        case .tokenLater, .usedUpUnspent:
            try await annaPostsBefore(signed)
            try await alias(token, to: "ben")
        case .tokenUnknownLinked: try await annaPostsBefore(signed)
        case .usedUpSpent:
            try await annaPostsBefore(signed)
            try await alias(token, to: "ben")
            try await support.post(
                "/v1/customers/\(id("anna"))/wallets/seeds/debits",
                ["amount": 1, "reason": "one seed"])
        case .support:
            try await order("transfers", of: "anna", original)
        case .blocked:
            try await anna(posts: signed)
            try await order("blocks", of: "anna", original)
        }
        return (original, signed)
    }

    private func anna(posts signed: [String]) async throws {
        #expect(try await post(signed, as: id("anna")).status == 200, "\(row)")
    }

    /// Anna posts when account tokens name nobody, by another configuration of the same server. So
    /// are links of earlier programs.
    private func annaPostsBefore(_ signed: [String]) async throws {
        _ = try await shop.serverOfForeignTokens().record(
            PurchaseEvidence(signedTransactions: signed),
            of: CustomerID(rawValue: id("anna")), app: "birds")
    }

    func post(_ signed: [String], as customer: String) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": .array(signed.map { .string($0) }),
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    func preview(_ signed: [String]) async throws -> JSON {
        let body: JSON = [
            "customer_id": .string(id("ben")),
            "signed_transactions": .array(signed.map { .string($0) }),
        ]
        let answer = try await shop.server.post("/v1/purchases/preview", body)
        return try #require(answer["purchases"]?.array?.first)
    }

    private func alias(_ other: String, to person: String) async throws {
        try await support.post(
            "/v1/customers/\(id(person))/aliases", ["customer_id": .string(other)])
    }

    private func order(_ what: String, of person: String, _ original: String) async throws {
        try await support.post(
            "/v1/customers/\(id(person))/\(what)",
            ["original_transaction_id": .string(original), "reason": "ticket 7"])
    }

    // MARK: - What came of it

    /// The name before the row's number.
    private func name(_ customer: String) -> String {
        customer == token ? "token" : String(customer.prefix { $0 != "-" })
    }

    func owner(of original: String) async throws -> String {
        let found = try await support.get("/v1/customers?query=\(original)")
        return (found["items"]?.array?.first?["customer_id"]?.string).map(name) ?? "-"
    }

    func users() async throws -> String {
        var users: [String] = []
        for person in person {
            let pro = try await shop.entitlement("pro", of: id(person))
            if pro?["active"] == true { users.append(person) }
        }
        return users.isEmpty ? "-" : users.joined(separator: ", ")
    }

    func told(_ person: String, after count: Int) async throws -> String {
        let types = try await events(of: person).dropFirst(count)
        return types.isEmpty ? "-" : types.joined(separator: ", ")
    }

    func events(of person: String) async throws -> [String] {
        let list = try await support.get("/v1/events?customer_id=\(id(person))&limit=500")
        return try (list["items"]?.array ?? []).map { try $0.text("type") }
    }

    /// Takes the last transfer back. Whether there was one.
    func undo() async throws -> Bool {
        let list = try await support.get("/v1/customers/\(id("ben"))/transfers")
        guard let last = list["items"]?.array?.last else { return false }
        let path = "/v1/customers/\(id("ben"))/transfers/\(try last.text("transfer_id"))"
        for _ in 0..<2 {
            #expect(try await support.send("DELETE", path).status == 200, "\(row)")
        }
        return true
    }
}

extension Shop {
    /// The same server, configured so that account tokens are no ids of customers.
    func serverOfForeignTokens() throws -> Engine {
        var app = birds.settings
        app.accountTokens = .other
        let roots = try TrustRoots(der: [authority.rootDER])
        let clock = engine
        return Engine(
            database: database, apps: [app], verifiers: ["birds": Verifier(roots: roots)],
            now: { clock.currentTime },
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// Whose a purchase is after another customer's device has shown it.
@Suite(.serialized) struct RestoreStories {
    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `a purchase is whose the table says, both are told, and it can be undone`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        let rows = try RestoreRow.rows(of: policy)
        #expect(Set(rows.map(\.path)) == Set(RestoreRow.Path.allCases))
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        try await withShop(on: database, app: app) { shop in
            for (number, row) in rows.enumerated() {
                try await Self.play(RestoreStage(shop: shop, row: row, number: 10 + number))
            }
            #expect(try await shop.engine.rebuild(verifyOnly: true).isClean)
        }
    }

    private static func play(_ stage: RestoreStage) async throws {
        let row = stage.row
        let (original, shown) = try await stage.prepare()
        let before = (
            anna: try await stage.events(of: "anna").count,
            ben: try await stage.events(of: "ben").count
        )
        let preview = try await stage.preview(shown)
        let users = try await stage.users()
        let answer = try await stage.post(shown, as: stage.id("ben"))
        let outcome: String = preview["outcome"]?.string ?? "none"
        if row.answer == "200" {
            #expect(answer.status == 200, "\(row)")
            #expect(["link", "move", "share"].contains(outcome), "\(row): \(outcome)")
        } else {
            #expect(answer.status == 409, "\(row)")
            let detail = try answer.json["detail"]?.string ?? ""
            #expect(detail.hasSuffix(": \(row.answer)."), "\(row): \(detail)")
            #expect(outcome == "refuse" && preview["why"]?.string == row.answer, "\(row)")
            #expect(try await stage.users() == users, "\(row)")
        }
        #expect(try await stage.owner(of: original) == row.owner, "\(row)")
        #expect(try await stage.users() == row.users, "\(row)")
        #expect(try await stage.told("anna", after: before.anna) == row.toldFormer, "\(row)")
        #expect(try await stage.told("ben", after: before.ben) == row.toldBen, "\(row)")
        if try await stage.undo() {
            #expect(try await stage.users() == row.usersAfterUndo, "\(row)")
            #expect(try await stage.owner(of: original) == "anna", "\(row)")
            // What support has undone no device does again.
            let again = try await stage.post(shown, as: stage.id("ben"))
            #expect(again.status == 409, "\(row)")
            #expect(try await stage.users() == row.usersAfterUndo, "\(row)")
        } else {
            #expect(row.usersAfterUndo == "-", "\(row)")
        }
    }
}
