import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Testing

/// The people of one row of the table, and their acts. The names of the people contain the row's
/// number.
private struct RestoreStage: Sendable {
    let shop: Shop
    let row: RestoreRow
    let number: Int
    var intent: OwnershipClaim.Intent?

    var support: Wire { Wire(base: shop.server.base, bearer: Shop.secretKey) }

    func id(_ person: String) -> String {
        let name = "\(person)-\(number)"
        guard row.path.anonymous.contains(person) else { return name }
        return "anon_" + name.padding(toLength: 32, withPad: "0", startingAt: 0)
    }

    private var person: [String] { ["anna", "ben", "cleo"] }

    /// The token's last digits are the row's number.
    private var token: String {
        let digits = String(number)
        return "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f".dropLast(digits.count) + digits
    }

    private var product: String {
        switch row.path {
        case .usedUp, .usedUpUnknown, .usedUpUnspent, .usedUpSpent, .anonymousUsedUp: "seeds.100"
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

    /// Prepares the row. Returns the purchase's number, and the documents that ben's device will
    /// show.
    func prepare() async throws -> (original: String, shown: [String]) {
        let account = id("account")
        try await shop.addDevice(account, try await deviceSettings())
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)])
        let original = try bought.text("original_transaction_id")
        let signed = [try bought.text("signed_transaction")]
        switch row.path {
        case .purchase, .usedUp, .anonymous, .anonymousBeside, .anonymousUsedUp:
            try await anna(posts: signed)
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
        case .notification, .tokenUnknown, .usedUpUnknown, .anonymousToken, .anonymousTokenBeside:
            break
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

    private func deviceSettings() async throws -> [String: JSON] {
        switch row.path {
        case .anonymousToken, .anonymousTokenBeside:
            let made = try await support.post("/v1/customers/\(id("anna"))/account_token")
            return ["app_account_token": .string(try made.text("account_token"))]
        default: return hasToken ? ["app_account_token": .string(token)] : [:]
        }
    }

    private func anna(posts signed: [String]) async throws {
        #expect(try await post(signed, as: id("anna")).status == 200, "\(row)")
    }

    /// Anna posts while account tokens are not customer ids, by another configuration of the same
    /// server. Such a link is like the links of earlier versions.
    private func annaPostsBefore(_ signed: [String]) async throws {
        _ = try await shop.serverOfForeignTokens().recording.record(
            PurchaseEvidence(signedTransactions: signed),
            of: CustomerID(rawValue: id("anna")), app: "birds")
    }

    func post(
        _ signed: [String], as customer: String, _ intent: OwnershipClaim.Intent? = nil
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer),
            "intent": intent.map { .string($0.rawValue) } ?? .null,
            "signed_transactions": .array(signed.map { .string($0) }),
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    func preview(_ signed: [String]) async throws -> JSON {
        let body: JSON = [
            "customer_id": .string(id("ben")),
            "intent": intent.map { .string($0.rawValue) } ?? .null,
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

    // MARK: - Results

    /// The name of a customer without the row's number.
    private func name(_ customer: String) -> String {
        if customer == token { return "token" }
        return String(customer.replacing(/^anon_/, with: "").prefix { $0 != "-" })
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
        // Events from before a purchase was linked have no customer.
        return try (list["items"]?.array ?? []).filter { $0["customer_id"] != .null }
            .map { try $0.text("type") }
    }

    /// Undoes the last transfer. Returns false if there was no transfer.
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
    /// A server on the shop's database for which account tokens are not customer ids.
    func serverOfForeignTokens() throws -> Engine {
        var app = birds.settings
        app.accountTokens = .other
        let roots = try TrustRoots(der: [authority.rootDER])
        let clock = engine
        return Engine(
            database: database, apps: [app], verifiers: ["birds": Verifier(roots: roots)],
            now: { clock.context.serverTime },
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// Who owns a purchase after another customer's device has shown it.
@Suite(.serialized) struct RestoreStories {
    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `restores give the owners and events in Tables/restore.txt, and transfers can be undone`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        for intent in [nil, .purchase, .restore] as [OwnershipClaim.Intent?] {
            try await Self.playTable(policy, intent, on: database)
        }
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `a purchase that an app finds at launch stays with its owner, and the app learns why`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        let expected = try RestoreRow.verdictsOfSync(under: policy)
        #expect(Set(expected.keys) == Set(RestoreRow.Path.allCases))
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        try await withShop(on: database, app: app) { shop in
            for (number, row) in try RestoreRow.rows(of: policy).enumerated() {
                try await Self.playSync(
                    RestoreStage(shop: shop, row: row, number: 10 + number, intent: .sync),
                    expecting: expected[row.path])
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    private static func playSync(
        _ stage: RestoreStage, expecting expected: String?
    ) async throws {
        let row = stage.row
        let (original, shown) = try await stage.prepare()
        let before = (
            owner: try await stage.owner(of: original), users: try await stage.users(),
            events: try await stage.events(of: "anna") + stage.events(of: "ben")
        )
        let preview = try await stage.preview(shown)
        let answer = try await stage.post(shown, as: stage.id("ben"), .sync)
        #expect(answer.status == 200, "\(row)")
        let verdict = try answer.json["purchases"]?.array?.first {
            $0["original_transaction_id"]?.string == original
        }
        let told = [verdict?["verdict"]?.string, verdict?["why"]?.string].compactMap { $0 }
            .joined(separator: " ")
        #expect(told == expected, "\(row)")
        #expect(
            (preview["outcome"]?.string == "refuse") == (preview["why"]?.string != nil), "\(row)")
        #expect(preview["why"]?.string == verdict?["why"]?.string, "\(row)")
        guard told.hasPrefix("another") || told.hasPrefix("refused") else { return }
        #expect(try await stage.owner(of: original) == before.owner, "\(row)")
        #expect(try await stage.users() == before.users, "\(row)")
        let events = try await stage.events(of: "anna") + stage.events(of: "ben")
        #expect(events == before.events, "\(row)")
        let isAnonymous = row.path.anonymous.contains("anna")
        let kind = told.hasPrefix("refused") ? nil : isAnonymous ? "anonymous" : "person"
        #expect(verdict?["owner"]?.string == kind, "\(row)")
    }

    private static func playTable(
        _ policy: OwnershipClaim.RestorePolicy, _ intent: OwnershipClaim.Intent?,
        on database: StoryDatabase
    ) async throws {
        let rows = try RestoreRow.rows(of: policy)
        #expect(Set(rows.map(\.path)) == Set(RestoreRow.Path.allCases))
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        try await withShop(on: database, app: app) { shop in
            for (number, row) in rows.enumerated() where !(intent == nil && row.path.isTaking) {
                try await Self.play(
                    RestoreStage(shop: shop, row: row, number: 10 + number, intent: intent))
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
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
        let answer = try await stage.post(shown, as: stage.id("ben"), stage.intent)
        let outcome: String = preview["outcome"]?.string ?? "none"
        if row.answer == "200" {
            #expect(answer.status == 200, "\(row)")
            #expect(["link", "move", "share"].contains(outcome), "\(row): \(outcome)")
        } else {
            #expect(answer.status == 409, "\(row)")
            let detail = try answer.json["detail"]?.string ?? ""
            let reason = row.answer == "kept" ? "restore policy: keep" : row.answer
            #expect(detail.hasSuffix("(\(reason))."), "\(row): \(detail)")
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
            // A device cannot repeat a transfer that support has undone.
            let again = try await stage.post(shown, as: stage.id("ben"), stage.intent)
            #expect(again.status == 409, "\(row)")
            #expect(try await stage.users() == row.usersAfterUndo, "\(row)")
        } else {
            #expect(row.usersAfterUndo == "-", "\(row)")
        }
    }
}
