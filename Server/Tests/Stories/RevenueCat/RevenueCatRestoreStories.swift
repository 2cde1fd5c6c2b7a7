import AppStoreFormats
import Ledger
import Testing

@testable import Program

/// A restore that posts an old transaction while the App Store does not return the later ones.
@Suite(.serialized) struct RevenueCatRestoreStories {
    private typealias Phone = RevenueCatPhone
    private static let works: JSON = ["api": [:]]

    /// Buys a month, which renews twice without any notification. Returns the first transaction.
    private static func buyLongAgo(in shop: Shop) async throws -> String {
        let bought = try await shop.buyMonth("anna")
        try await CopiedDocumentStories.pass("P70D", in: shop)
        return try bought.text("signed_transaction")
    }

    private static func restore(_ signed: String, in shop: Shop) async throws -> Wire.Answer {
        try await Phone(shop.server, as: "anna").post(signed, "restore")
    }

    @Test(arguments: [LocalStack.Settings.Checks.none, .receipts], StoryDatabase.allCases)
    func `without an App Store key, a RevenueCat restore is answered from stored documents`(
        checks: LocalStack.Settings.Checks, database: StoryDatabase
    ) async throws {
        try await withShop(
            on: database, app: Phone.app(), notifies: false, questions: checks
        ) { shop in
            let signed = try await Self.buyLongAgo(in: shop)
            for _ in 1...2 {
                let answer = try await Self.restore(signed, in: shop)
                #expect(answer.status == 200)
                #expect(try RevenueCatAnswer(try answer.json).active.isEmpty)
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if the App Store does not know a purchase, a restore is answered from stored documents`(
        database: StoryDatabase
    ) async throws {
        try await withShop(
            on: database, app: Phone.app(), notifies: false, questions: .due
        ) { shop in
            let signed = try await Self.buyLongAgo(in: shop)
            try await shop.simulator.post("/_sim/faults", ["api": ["not_found": 1]])
            for _ in 1...2 {
                let answer = try await Self.restore(signed, in: shop)
                #expect(answer.status == 200)
                #expect(try RevenueCatAnswer(try answer.json).active.isEmpty)
            }
            try await shop.simulator.post("/_sim/faults", Self.works)
            try await CopiedDocumentStories.pass("PT2M", in: shop)
            let answer = try await Self.restore(signed, in: shop)
            #expect(try RevenueCatAnswer(try answer.json).active == ["pro", "plus"])
        }
    }

    /// More attempts than are needed until an outage counts as a long one.
    private static let attemptsMax = 20

    @Test(arguments: StoryDatabase.allCases)
    func `in an App Store outage a restore gets 503, and in a long outage 200`(
        database: StoryDatabase
    ) async throws {
        try await withShop(
            on: database, app: Phone.app(), notifies: false, questions: .due
        ) { shop in
            let signed = try await Self.buyLongAgo(in: shop)
            try await shop.simulator.post("/_sim/faults", ["api": ["outage": ["days": 2]]])
            let first = try await Self.restore(signed, in: shop)
            #expect(first.status == 503 && first.retryAfter != nil)
            // The posted document is stored, so a later answer of the App Store opens access.
            #expect(try await shop.server.get("/v1/customers/anna")["subscriptions"] != [])
            var statuses: [Int] = []
            while statuses.last != 200, statuses.count < Self.attemptsMax {
                try await CopiedDocumentStories.pass("PT11M", in: shop)
                statuses.append(try await Self.restore(signed, in: shop).status)
            }
            #expect(statuses.last == 200 && statuses.dropLast().allSatisfy { $0 == 503 })
            try await shop.simulator.post("/_sim/faults", Self.works)
            try await CopiedDocumentStories.pass("PT11M", in: shop)
            let answer = try await Self.restore(signed, in: shop)
            #expect(answer.status == 200)
            #expect(try RevenueCatAnswer(try answer.json).active == ["pro", "plus"])
        }
    }
}
