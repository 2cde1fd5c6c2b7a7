import AppStoreFormats
import Engine
import Ledger
import Program
import Signing
import Storage
import Testing

/// A client tries to fill our disk with variants of one signed document, or with newly signed
/// documents.
@Suite(.serialized) struct DocumentStories {
    private static let device = "/_sim/devices/anna-1"

    private static func post(_ documents: JSON.Member, in shop: Shop) async throws -> Wire.Answer {
        let body = JSON.object([JSON.Member("customer_id", "anna"), documents])
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    private static func count(in shop: Shop) async throws -> Int {
        try await Database(shop.database).read { tx in try tx.documents.count() }
    }

    private static func kept(in shop: Shop) async throws -> [StoredDocument] {
        try await Database(shop.database).read { tx in
            try tx.documents.all(of: "birds", after: .start, limit: 100)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a signed transaction with a different valid signature counts as the same document`(
        database: StoryDatabase
    ) async throws {
        for isOtherFirst in [false, true] {
            try await withShop(on: database, notifies: false) { shop in
                try await shop.addDevice("anna")
                let jws = try await shop.simulator.post(
                    Self.device + "/purchases", ["product_id": "pro.monthly"]
                ).text("signed_transaction")
                let other = String(
                    decoding: try #require(OtherSignature.jws(Array(jws.utf8))), as: UTF8.self)
                let both = isOtherFirst ? [other, jws] : [jws, other]
                for text in both + both {
                    let member = JSON.Member("signed_transactions", [.string(text)])
                    #expect(try await Self.post(member, in: shop).status == 200)
                }
                #expect(try await Self.count(in: shop) == 1)
                let id = try await Self.kept(in: shop).map(\.id)
                #expect(id.count == 1 && id[0] == documentID(of: jws))
                #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
                let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
                #expect(report.isClean && report.documents == 1, "\(report)")
            }
        }
    }

    /// Posts the receipt of a subscription. Returns the receipt's file.
    private static func buyByReceipt(in shop: Shop) async throws -> [UInt8] {
        try await shop.addDevice("anna")
        let text = try await shop.simulator.post(
            device + "/purchases", ["product_id": "pro.monthly"]
        ).text("app_receipt")
        #expect(try await post(JSON.Member("app_receipt", .string(text)), in: shop).status == 200)
        return try #require(ReceiptText.bytes(of: text))
    }

    @Test(arguments: StoryDatabase.allCases)
    func `receipt files that differ only in unsigned parts are stored as one document`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let file = try await Self.buyByReceipt(in: shop)
            let first = try await Self.kept(in: shop)
            let files = ReceiptVariants.files(of: file) + [file]
            for file in files + files {
                let member = JSON.Member("app_receipt", .string(ReceiptText.text(of: file)))
                #expect(try await Self.post(member, in: shop).status == 200)
            }
            let kept = try await Self.kept(in: shop)
            #expect(kept == first && kept.count == 1, "\(kept.count) documents")
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean && report.documents == 1, "\(report)")
        }
    }

    @Test func `a receipt of mostly unsigned bytes is refused, with a remedy`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let file = try await Self.buyByReceipt(in: shop)
            let large = ReceiptVariants.padded(file, by: 70_000)
            let member = JSON.Member("app_receipt", .string(ReceiptText.text(of: large)))
            let answer = try await Self.post(member, in: shop)
            #expect(answer.status == 400)
            #expect(try answer.json.text("code") == "purchase_not_understood")
            #expect(try answer.json.text("detail").contains("unsigned bytes"))
            #expect(try await Self.count(in: shop) == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `beyond a purchase's hourly limit, documents are refused, but notifications are recorded`(
        database: StoryDatabase
    ) async throws {
        var app = birds
        app.settings.documentBudget = DocumentBudget(perHour: 4)
        try await withShop(on: database, app: app) { shop in
            try await shop.addDevice("anna")
            try await shop.simulator.post(
                Self.device + "/purchases", ["product_id": "pro.monthly"])
            var posted: [String] = []
            var refused: Wire.Answer?
            for _ in 1...9 where refused == nil {
                // StoreKit signs a new document for every request.
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
                let signed = try await Self.signedNow(shop)
                let answer = try await Self.post(signed.member, in: shop)
                if answer.status == 200 { posted.append(signed.text) } else { refused = answer }
            }
            #expect(posted.count == 4)
            let refusal = try #require(refused)
            #expect(refusal.status == 429)
            #expect(try refusal.json.text("code") == "document_budget_spent")
            let wait = try #require(refusal.retryAfter.flatMap { Int($0) })
            #expect((1...900).contains(wait))
            let before = try await Self.count(in: shop)
            // A known document may be posted any number of times.
            for text in posted {
                let member = JSON.Member("signed_transactions", [.string(text)])
                #expect(try await Self.post(member, in: shop).status == 200)
            }
            // A notification of the App Store is never refused, and takes effect immediately.
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/refund")
            #expect(try await Self.count(in: shop) > before)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] != true)
            try await shop.simulator.post(
                "/_sim/clock", ["advance": .string("PT\(wait)S")])
            let later = try await Self.post(try await Self.signedNow(shop).member, in: shop)
            #expect(later.status == 200)
        }
    }

    private static func signedNow(
        _ shop: Shop
    ) async throws -> (text: String, member: JSON.Member) {
        let listed = try await shop.simulator.get(device + "/transactions")
        let text = try #require(listed["signed_transactions"]?.array?.last?.string)
        return (text, JSON.Member("signed_transactions", [.string(text)]))
    }
}
