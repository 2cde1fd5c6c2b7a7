import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// A thief has the public app key, and old or recent copies of documents from another customer's
/// device. The buyer's devices can always get a newly signed document.
@Suite(.serialized) struct CopiedDocumentStories {
    /// The id of a device on which nobody has signed in.
    static func device(_ name: String) -> String {
        "anon_" + name.padding(toLength: 32, withPad: "0", startingAt: 0)
    }

    static func app(
        _ policy: OwnershipClaim.RestorePolicy = .keep, most: Int = 5, anonymousMost: Int = 3
    ) -> AppConfiguration {
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        app.settings.shareRules = [
            .production: OwnershipClaim.ShareRules(most: most, anonymousMost: anonymousMost)
        ]
        return app
    }

    /// Posts documents. Returns the verdict on the purchase, with its reason if there is one.
    static func post(
        _ signed: String, as customer: String, _ intent: String?, in shop: Shop
    ) async throws -> String {
        let body: JSON = [
            "customer_id": .string(customer), "intent": intent.map { .string($0) } ?? .null,
            "signed_transactions": [.string(signed)],
        ]
        let answer = try await shop.server.send("POST", "/v1/purchases", body: body.bytes).json
        let verdicts = answer["purchases"] ?? answer["customer"]?["purchases"]
        guard let verdict = verdicts?.array?.last else {
            return answer["detail"]?.string.map { String($0.split(separator: " ").last ?? "") }
                ?? "posted"
        }
        return [verdict["verdict"]?.string, verdict["why"]?.string].compactMap { $0 }
            .joined(separator: " ")
    }

    static func isOpen(_ customer: String, in shop: Shop) async throws -> Bool {
        try await shop.entitlement("pro", of: customer)?["active"] == true
    }

    /// The transactions of a device of anna's account, newly signed by the App Store.
    static func signedNow(in shop: Shop) async throws -> String {
        try await pass("PT1M", in: shop)
        let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
        return try #require(restored["signed_transactions"]?.array?.last?.string)
    }

    static func pass(_ time: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(time)])
    }

    /// Anna buys on a device on which she has not signed in. Returns the signed transaction.
    static func buy(in shop: Shop) async throws -> String {
        let signed = try await shop.buyMonth("anna").text("signed_transaction")
        #expect(try await post(signed, as: device("phone"), "purchase", in: shop) == "linked")
        return signed
    }

    static func join(
        _ device: String, to person: String, in shop: Shop
    ) async throws {
        try await shop.server.post(
            "/v1/customers/\(person)/aliases", ["customer_id": .string(device)])
    }

    static func expectClean(_ shop: Shop) async throws {
        #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
    }

    // MARK: - Devices

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `devices without log-in get no access from a copy of a document signed 31 days ago`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(policy)) { shop in
            let copy = try await Self.buy(in: shop)
            try await Self.pass("P20D", in: shop)
            #expect(
                try await Self.post(copy, as: Self.device("pad"), "sync", in: shop) == "shared")
            try await Self.pass("P11D", in: shop)
            for (number, intent) in ["sync", "restore", "purchase", nil].enumerated() {
                let thief = Self.device("thief\(number)")
                let verdict = try await Self.post(copy, as: thief, intent, in: shop)
                #expect(verdict == "another document_too_old", "\(intent ?? "none")")
                #expect(try await !Self.isOpen(thief, in: shop))
            }
            // A device that has access keeps it, and anna's new phone gets access.
            #expect(
                try await Self.post(copy, as: Self.device("pad"), "sync", in: shop) == "shared")
            let now = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(now, as: Self.device("new"), "sync", in: shop) == "shared")
            for device in ["phone", "pad", "new"] {
                #expect(try await Self.isOpen(Self.device(device), in: shop), "\(device)")
            }
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `copies of a document cannot use up the shares of devices that show newer documents`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            _ = try await Self.buy(in: shop)
            // Anna's tablet has shown a document that was signed after the tablet got its share.
            for _ in 0..<2 {
                let signed = try await Self.signedNow(in: shop)
                #expect(
                    try await Self.post(signed, as: Self.device("pad"), "sync", in: shop)
                        == "shared")
            }
            let copy = try await Self.signedNow(in: shop)
            var verdicts: [String] = []
            for number in 1...4 {
                verdicts.append(
                    try await Self.post(
                        copy, as: Self.device("thief\(number)"), "restore", in: shop))
                try await Self.pass("PT1S", in: shop)
            }
            #expect(
                verdicts == [
                    "shared", "shared", "another shared_with_most", "another shared_with_most",
                ])
            let now = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(now, as: Self.device("new"), "sync", in: shop) == "shared")
            // Her share replaced that of the latest copy, whose device gets an event. No copy takes
            // the share back.
            #expect(
                try await Self.post(copy, as: Self.device("thief2"), "restore", in: shop)
                    == "another shared_with_most")
            for (device, isOpen) in [
                ("phone", true), ("pad", true), ("new", true), ("thief1", true),
                ("thief2", false), ("thief3", false),
            ] {
                #expect(try await Self.isOpen(Self.device(device), in: shop) == isOpen, "\(device)")
            }
            let events = try await shop.support.get(
                "/v1/events?customer_id=\(Self.device("thief2"))")
            #expect(events["items"]?.array?.last?["type"] == "share_ended")
            // A newer document restores the ended share, because support has not decided anything.
            let later = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(later, as: Self.device("thief2"), "sync", in: shop) == "shared")
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after the owner is erased, devices can link and share the purchase again`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            let signed = try await Self.buy(in: shop)
            #expect(
                try await Self.post(signed, as: Self.device("pad"), "sync", in: shop) == "shared")
            #expect(try await Self.post(signed, as: "anna", "restore", in: shop) == "moved")
            _ = try await shop.support.send("DELETE", "/v1/customers/anna")
            #expect(
                try await Self.post(signed, as: Self.device("new"), "sync", in: shop) == "linked")
            #expect(
                try await Self.post(signed, as: Self.device("pad"), "sync", in: shop) == "shared")
            #expect(try await Self.isOpen(Self.device("pad"), in: shop))
            try await Self.expectClean(shop)
        }
    }

    // MARK: - Persons

    /// How the buyer takes back what a thief has taken.
    enum Buyer: String, CaseIterable {
        /// The buyer posts on the same device, without having signed in.
        case phone
        /// The buyer posts on a new device, or after the app was deleted.
        case newPhone
        /// The buyer posts after she signed in on the same device.
        case signedIn
        /// The buyer posts on a device on which she had a purchase before she signed in, so the
        /// device's id is not an alias of hers.
        case person
    }

    @Test(arguments: Buyer.allCases, StoryDatabase.allCases)
    func `a thief with a recent copy has access until the buyer restores with a newer document`(
        buyer: Buyer, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            let copy = try await Self.buy(in: shop)
            try await Self.pass("P20D", in: shop)
            #expect(try await Self.post(copy, as: "thief", "restore", in: shop) == "moved")
            // The thief shows the same copy repeatedly, and also a copy from before the theft.
            for intent in ["sync", "restore"] {
                #expect(try await Self.post(copy, as: "thief", intent, in: shop) == "theirs")
            }
            if buyer == .signedIn {
                try await Self.join(Self.device("phone"), to: "anna", in: shop)
            }
            let anna: String
            switch buyer {
            case .phone: anna = Self.device("phone")
            case .newPhone: anna = Self.device("new")
            case .signedIn, .person: anna = "anna"
            }
            #expect(
                try await Self.post(copy, as: anna, "restore", in: shop)
                    == "another document_too_old")
            let now = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(now, as: anna, "sync", in: shop) == "another needs_restore")
            #expect(try await Self.post(now, as: anna, "restore", in: shop) == "moved")
            #expect(try await Self.isOpen(anna, in: shop))
            #expect(try await !Self.isOpen("thief", in: shop))
            // From now on the purchase stays with her.
            for thief in ["thief", "thief-2"] {
                for intent in ["restore", "purchase", "sync", nil] {
                    let verdict = try await Self.post(copy, as: thief, intent, in: shop)
                    #expect(verdict.hasPrefix("another"), "\(intent ?? "none"): \(verdict)")
                }
            }
            #expect(try await Self.isOpen(anna, in: shop))
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a thief with the buyer's latest document loses the purchase to any newer document`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            let phone = Self.device("phone")
            let copy = try await Self.buy(in: shop)
            #expect(try await Self.post(copy, as: "thief", "restore", in: shop) == "moved")
            // Anna's app posts automatically, and the thief gets a copy of that document, too.
            let later = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(later, as: phone, "sync", in: shop) == "another needs_restore")
            for intent in ["sync", "restore"] {
                #expect(try await Self.post(later, as: "thief", intent, in: shop) == "theirs")
            }
            #expect(
                try await Self.post(later, as: phone, "restore", in: shop)
                    == "another document_too_old")
            let now = try await Self.signedNow(in: shop)
            #expect(try await Self.post(now, as: phone, "restore", in: shop) == "moved")
            #expect(
                try await Self.post(later, as: "thief", "restore", in: shop)
                    == "another document_too_old")
            #expect(try await Self.isOpen(phone, in: shop))
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a restore with a copy that is older than the buyer's document is refused`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            let copy = try await Self.buy(in: shop)
            let shown = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(shown, as: Self.device("phone"), "sync", in: shop) == "theirs")
            #expect(
                try await Self.post(copy, as: "thief", "restore", in: shop)
                    == "another document_too_old")
            // The same document is recent enough when anna signs in on the same device.
            #expect(try await Self.post(shown, as: "anna", "restore", in: shop) == "moved")
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a person who has shown two documents keeps the purchase if another person restores`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            let signed = try await Self.buy(in: shop)
            #expect(try await Self.post(signed, as: "anna", "restore", in: shop) == "moved")
            let later = try await Self.signedNow(in: shop)
            #expect(try await Self.post(later, as: "anna", "sync", in: shop) == "theirs")
            // Ben signs in on anna's phone.
            let now = try await Self.signedNow(in: shop)
            #expect(try await Self.post(now, as: "ben", "restore", in: shop) == "another kept")
            #expect(try await Self.isOpen("anna", in: shop))
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a thief whose device posted a copy first loses the purchase when the buyer restores`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app()) { shop in
            // The app was killed before it posted anything, so the thief is first.
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(
                try await Self.post(copy, as: Self.device("thief"), "sync", in: shop) == "linked")
            #expect(
                try await Self.post(copy, as: Self.device("phone"), "sync", in: shop) == "shared")
            try await Self.join(Self.device("thief"), to: "thief", in: shop)
            #expect(try await !Self.isOpen(Self.device("phone"), in: shop))
            let now = try await Self.signedNow(in: shop)
            #expect(
                try await Self.post(now, as: Self.device("phone"), "restore", in: shop) == "moved")
            #expect(try await Self.isOpen(Self.device("phone"), in: shop))
            #expect(
                try await Self.post(copy, as: "thief", "restore", in: shop)
                    == "another document_too_old")
            #expect(try await !Self.isOpen("thief", in: shop))
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `under the policy transfer, a posting of a copy from 31 days ago is refused`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(.transfer)) { shop in
            let copy = try await Self.buy(in: shop)
            try await Self.pass("P31D", in: shop)
            #expect(
                try await Self.post(copy, as: "thief", nil, in: shop) == "another document_too_old")
            let now = try await Self.signedNow(in: shop)
            #expect(try await Self.post(now, as: "anna", nil, in: shop) == "moved")
            #expect(
                try await Self.post(copy, as: Self.device("thief"), "restore", in: shop)
                    == "another document_too_old")
            #expect(try await Self.isOpen("anna", in: shop))
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `moves by copied documents are limited per hour, but moves by new documents are not`(
        database: StoryDatabase
    ) async throws {
        var app = Self.app(.transfer)
        app.settings.growthPerHour = 4
        try await withShop(on: database, app: app) { shop in
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(try await Self.post(copy, as: "anna", "purchase", in: shop) == "linked")
            var verdicts: [String] = []
            for number in 1...6 {
                let thief = "thief-\(number % 3)"
                verdicts.append(try await Self.post(copy, as: thief, "restore", in: shop))
            }
            #expect(verdicts.prefix(4).allSatisfy { $0 == "moved" }, "\(verdicts)")
            #expect(verdicts.suffix(2).allSatisfy { $0 == "posted" }, "\(verdicts)")
            let body: JSON = [
                "customer_id": "thief-7", "intent": "restore",
                "signed_transactions": [.string(copy)],
            ]
            let refused = try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
            #expect(refused.status == 429)
            #expect(try refused.json.text("code") == "growth_budget_spent")
            #expect(Int(refused.retryAfter ?? "") ?? 0 > 0)
            #expect(try await shop.server.get("/v1/customers/thief-7")["subscriptions"] == [])
            let now = try await Self.signedNow(in: shop)
            #expect(try await Self.post(now, as: "anna", "restore", in: shop) == "moved")
            #expect(try await Self.isOpen("anna", in: shop))
            // A device may always post documents of a purchase that it already has.
            #expect(try await Self.post(now, as: "anna", "sync", in: shop) == "theirs")
            try await Self.expectClean(shop)
        }
    }
}
