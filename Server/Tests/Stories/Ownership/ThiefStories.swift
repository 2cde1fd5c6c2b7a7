import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// What a person with the public app key can do to a customer whose id they know.
@Suite(.serialized) struct ThiefStories {
    private typealias Copies = CopiedDocumentStories

    private static func join(_ other: String, to id: String, in shop: Shop) async throws -> Int {
        let body: JSON = ["customer_id": .string(other)]
        return try await shop.server.send("POST", "/v1/customers/\(id)/aliases", body: body.bytes)
            .status
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a thief merges an anonymous id with a person's id, the person keeps the purchases`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app()) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let (thief, early) = (Copies.device("thief"), Copies.device("early"))
            #expect(try await Self.join("anna", to: thief, in: shop) == 200)
            #expect(try await Self.join("ben", to: early, in: shop) == 200)
            for (person, device) in [("anna", thief), ("ben", early)] {
                let path = "/v1/customers/\(person)/aliases/\(device)"
                #expect(try await shop.support.send("DELETE", path).status == 200, "\(person)")
                #expect(try await !Copies.isOpen(device, in: shop))
            }
            #expect(try await Copies.isOpen("anna", in: shop))
            let events = try await shop.support.get("/v1/events?customer_id=anna")
            #expect(
                events["items"]?.array?.allSatisfy { ["anna", .null].contains($0["customer_id"]) }
                    == true)
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a buyer keeps a purchase with a token even if thieves have added 109 aliases`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app()) { shop in
            for number in 1...49 {
                let device = Copies.device("a\(number)")
                #expect(try await Self.join(device, to: "anna", in: shop) == 200)
            }
            for number in 1...60 {
                let device = Copies.device("b\(number)")
                try await shop.server.post("/v1/customers/\(device)/account_token", [:])
                #expect(try await Self.join(device, to: "anna", in: shop) == 200)
            }
            let phone = Copies.device("phone")
            let made = try await shop.server.post("/v1/customers/\(phone)/account_token", [:])
            let token = try made.text("account_token")
            let bought = try await shop.buyMonth("anna", token: token)
            #expect(try await shop.post(bought, as: phone) == 200)
            #expect(try await Self.join(phone, to: "anna", in: shop) == 200)
            #expect(try await Copies.isOpen("anna", in: shop))
            // The thief posts a copy under the id of the customer whom the copy names.
            let copy = try bought.text("signed_transaction")
            _ = try await Copies.post(copy, as: token, "restore", in: shop)
            _ = try await Copies.post(copy, as: "thief", "restore", in: shop)
            #expect(try await Copies.isOpen("anna", in: shop))
            #expect(try await !Copies.isOpen("thief", in: shop))
            // The app's server makes room for more ids.
            let own: JSON = ["customer_id": "anna-2"]
            let path = "/v1/customers/anna/aliases"
            #expect(try await shop.support.send("POST", path, body: own.bytes).status == 200)
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a buyer gets a purchase back if a thief takes it, erases the account and takes it again`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app()) { shop in
            let copy = try await Copies.buy(in: shop)
            try await Copies.pass("PT1H", in: shop)
            #expect(try await Copies.post(copy, as: "thief", "restore", in: shop) == "moved")
            #expect(try await shop.support.send("DELETE", "/v1/customers/thief").status == 200)
            #expect(try await Copies.post(copy, as: "thief-2", "restore", in: shop) == "linked")
            let now = try await Copies.signedNow(in: shop)
            let phone = Copies.device("phone")
            #expect(try await Copies.post(now, as: phone, "restore", in: shop) == "moved")
            #expect(try await Copies.isOpen(phone, in: shop))
            #expect(try await !Copies.isOpen("thief-2", in: shop))
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a posting without an intent cannot move a purchase from a person to a device`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app()) { shop in
            let signed = try await Copies.buy(in: shop)
            try await Copies.join(Copies.device("phone"), to: "mia", in: shop)
            #expect(try await Copies.post(signed, as: "mia", nil, in: shop) == "theirs")
            try await Copies.pass("PT1H", in: shop)
            let later = try await Copies.signedNow(in: shop)
            let pad = Copies.device("pad")
            #expect(
                try await Copies.post(later, as: pad, nil, in: shop) == "another needs_restore")
            #expect(try await Copies.isOpen("mia", in: shop))
            try await Copies.expectClean(shop)
        }
    }

    // MARK: - Purchases that give no access for a while

    /// Anna buys a month while signed in, and cancels. When the purchase no longer gives access,
    /// another person takes it with a copy. Finally anna subscribes again.
    private static func lapse(in shop: Shop, takenBy person: String) async throws -> String {
        let bought = try await shop.buyMonth("anna")
        let copy = try bought.text("signed_transaction")
        #expect(try await Copies.post(copy, as: "anna", "purchase", in: shop) == "linked")
        try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
        try await Copies.pass("P40D", in: shop)
        #expect(try await !Copies.isOpen("anna", in: shop))
        // Between two persons this policy does not require a recent document.
        #expect(try await Copies.post(copy, as: person, "restore", in: shop) == "moved")
        #expect(try await !Copies.isOpen(person, in: shop))
        try await Copies.pass("P1D", in: shop)
        let again = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
        #expect(
            try again.text("original_transaction_id") == bought.text("original_transaction_id"))
        return copy
    }

    @Test(
        arguments: ["anna", CopiedDocumentStories.device("phone")], StoryDatabase.allCases)
    func `a buyer can restore a purchase that a thief took while the purchase gave no access`(
        buyer: String, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app(.transferIfInactive)) { shop in
            let copy = try await Self.lapse(in: shop, takenBy: "thief")
            #expect(try await Copies.post(copy, as: "thief", "sync", in: shop) == "theirs")
            let now = try await Copies.signedNow(in: shop)
            #expect(
                try await Copies.post(now, as: buyer, "sync", in: shop) == "another needs_restore")
            #expect(try await Copies.post(now, as: buyer, "restore", in: shop) == "moved")
            #expect(try await Copies.isOpen(buyer, in: shop))
            #expect(try await !Copies.isOpen("thief", in: shop))
            // While the purchase gives access, the copy does not take it from its owner.
            for thief in ["thief", "thief-2"] {
                #expect(
                    try await Copies.post(copy, as: thief, "restore", in: shop)
                        == "another document_too_old")
            }
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a person who restores an ended purchase and posts newer documents keeps the purchase`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app(.transferIfInactive)) { shop in
            // Ben has signed in on the device, and subscribes there.
            _ = try await Self.lapse(in: shop, takenBy: "ben")
            let later = try await Copies.signedNow(in: shop)
            #expect(try await Copies.post(later, as: "ben", "sync", in: shop) == "theirs")
            let now = try await Copies.signedNow(in: shop)
            #expect(try await Copies.post(now, as: "anna", "restore", in: shop) == "another in_use")
            #expect(try await Copies.isOpen("ben", in: shop))
            try await Copies.expectClean(shop)
        }
    }
}
