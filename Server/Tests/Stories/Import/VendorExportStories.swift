import AppStoreFormats
import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// A vendor's export contains customers: their purchases, and the vendor's data about them.
@Suite(.serialized) struct VendorExportStories {
    private static func run(
        _ kind: ImportKind, _ lines: [String], with shop: Shop, in folder: TemporaryFolder,
        called name: String = "export", isTrial: Bool = false
    ) async throws -> (position: ImportPosition, report: [String]) {
        let file = URL(filePath: folder.path + "/\(name).csv")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        let report = URL(filePath: folder.path + "/\(name).report.csv")
        let run = ImportRun(
            engine: shop.engine, app: "birds", kind: kind, file: file, report: report,
            isTrial: isTrial, isAnew: true, sleep: { _ in })
        let (position, _) = try await run.run()
        let lines = try String(contentsOf: report, encoding: .utf8).split(separator: "\n")
        return (position, lines.dropFirst().map(String.init))
    }

    private static let header =
        "rc_original_app_user_id,rc_last_seen_app_user_id_alias,store,is_sandbox,"
        + "product_identifier,start_time,end_time,store_transaction_id,"
        + "original_store_transaction_id,entitlement_identifiers,presented_offering,"
        + "reserved_subscriber_attributes,custom_subscriber_attributes,updated_at,first_seen_time"

    private static func line(_ cells: String...) -> String {
        cells.map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ",")
    }

    private static func sold(_ customer: String, _ number: String, bird: String) -> String {
        line(
            customer, customer, "app_store", "false", "pro.monthly", "2025-12-01 00:00:00",
            "2026-01-01 00:00:00", number, number, #"["pro"]"#, "spring",
            #"{"$email":{"value":"\#(customer)@example.com","updated_at_ms":1700000000000}}"#,
            #"{"bird":{"value":"\#(bird)","updated_at_ms":1700000000000}}"#,
            "2025-12-01 00:00:00", "2024-05-01 08:00:00")
    }

    private static func granted(
        _ customer: String, _ entitlement: String, until end: String, _ id: String
    ) -> String {
        line(
            customer, customer, "promotional", "false", "rc_promo_\(entitlement)_custom",
            "2025-11-01 00:00:00", end, id, id, #"["\#(entitlement)"]"#, "", "", "",
            "2025-11-01 00:00:00", "2024-05-01 08:00:00")
    }

    private static func attributes(_ customer: String, _ shop: Shop) async throws -> [String:
        String]
    {
        let items = try await shop.support.get("/v1/customers/\(customer)/attributes")["items"]?
            .array
        return Dictionary(
            (items ?? []).map { ($0["name"]?.string ?? "", $0["value"]?.string ?? "") }
        ) { one, _ in one }
    }

    private static func events(_ shop: Shop) async throws -> Int64 {
        try await shop.database.read { try $0.number("SELECT count(*) FROM events") }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an import from RevenueCat stores each attribute, grant and placement once`(
        database: StoryDatabase
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: database, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            let lines = [
                Self.header, Self.sold("anna", number, bird: "owl"),
                Self.granted("ben", "pro", until: "2126-01-01 00:00:00", "g1"),
                Self.granted("cleo", "pro", until: "2020-01-01 00:00:00", "g2"),
                Self.granted("cleo", "gold", until: "2126-01-01 00:00:00", "g3"),
            ]
            let trial = try await Self.run(
                .revenueCat, lines, with: shop, in: folder, called: "trial", isTrial: true)
            #expect(trial.position.used == 2 && trial.position.refused == 2)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
            #expect(try await Self.attributes("anna", shop).isEmpty)

            let found = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(found.position.used == 2)
            #expect(found.report.map { $0.prefix(7) } == ["4,cleo,", "5,cleo,"])
            #expect(found.report.first?.contains("ended") == true)
            #expect(found.report.last?.contains("gold") == true)
            let expected = ["$email": "anna@example.com", "bird": "owl"]
            #expect(try await Self.attributes("anna", shop) == expected)
            let pro = try #require(try await shop.entitlement("pro", of: "ben"))
            #expect(pro["state"] == "granted")
            #expect(pro["until"]?.string?.hasPrefix("2126-01-01") == true, "\(pro.text)")
            let rest = try await Database(shop.database).read { tx in
                (
                    try tx.purchases.origins(
                        of: PurchaseID(TransactionID(rawValue: number), in: .production),
                        in: "birds"
                    ).values.map(\.placement),
                    try tx.customers.createdAt("anna", in: "birds")
                )
            }
            #expect(rest.0 == ["spring"])
            #expect(rest.1 == Instant("2024-05-01T08:00:00.000Z"))

            let events = try await Self.events(shop)
            let again = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(again.position.used == 2 && again.report == found.report)
            #expect(try await Self.events(shop) == events)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test
    func `an import does not replace newer attributes, and does not restore withdrawn grants`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            let newer: JSON = ["attributes": [["name": "bird", "value": "kite"]]]
            _ = try await shop.support.send(
                "PATCH", "/v1/customers/anna/attributes", body: newer.bytes,
                headers: ["Content-Type": "application/json"])
            let lines = [
                Self.header, Self.sold("anna", number, bird: "owl"),
                Self.granted("anna", "premium", until: "2126-01-01 00:00:00", "g1"),
            ]
            #expect(
                try await Self.run(.revenueCat, lines, with: shop, in: folder).position.used == 2)
            let expected = ["$email": "anna@example.com", "bird": "kite"]
            #expect(try await Self.attributes("anna", shop) == expected)
            let premium = try #require(try await shop.entitlement("premium", of: "anna"))
            let grant = try #require(premium["grant_id"]?.string)
            _ = try await shop.support.send("DELETE", "/v1/customers/anna/grants/\(grant)")
            let again = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(again.position.used == 2)
            #expect(
                try await shop.entitlement("premium", of: "anna")?["state"] == "revoked")
            let later = [
                Self.header, Self.granted("ben", "premium", until: "2126-01-01 00:00:00", "g2"),
                Self.granted("ben", "premium", until: "2127-01-01 00:00:00", "g2"),
            ]
            let changed = try await Self.run(.revenueCat, later, with: shop, in: folder)
            #expect(changed.report.first?.contains("another end") == true)
        }
    }

    @Test func `a grant that begins later opens no access yet, and is imported once it has begun`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let now = try #require(
                Instant(try await shop.simulator.get("/_sim/clock").text("now")))
            let start = now + .seconds(86_400)
            let lines = [
                Self.header,
                Self.granted("ben", "premium", until: "2126-01-01 00:00:00", "g1")
                    .replacing("2025-11-01 00:00:00", with: "\(start)"),
            ]
            let early = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(early.position.used == 0)
            #expect(early.report.first?.contains("begins at \(start)") == true, "\(early.report)")
            #expect(try await shop.entitlement("premium", of: "ben") == nil)
            try await shop.simulator.post("/_sim/clock", ["set": .string("\(start)")])
            let late = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(late.position.used == 1, "\(late.report)")
            #expect(try await shop.entitlement("premium", of: "ben")?["state"] == "granted")
        }
    }

    @Test func `an attribute that breaks a rule is reported, and the rest of its row is used`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            let long = String(repeating: "x", count: 501)
            let lines = [Self.header, Self.sold("anna", number, bird: long)]
            let found = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(found.position.refused == 1)
            #expect(found.report.first?.contains("the rest of the row was used") == true)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await Self.attributes("anna", shop) == ["$email": "anna@example.com"])
        }
    }

    @Test func `an import stores nothing about an erased customer`() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            let lines = [
                Self.header, Self.sold("anna", number, bird: "owl"),
                Self.granted("anna", "premium", until: "2126-01-01 00:00:00", "g1"),
            ]
            _ = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            _ = try await shop.engine.customers.erase("anna", app: "birds")
            let trial = try await Self.run(
                .revenueCat, lines, with: shop, in: folder, called: "trial", isTrial: true)
            #expect(trial.position.used == 0)
            let adapty = [
                "original_transaction_id,customer_user_id,store", "\(number),anna,app_store",
            ]
            let ids = ["original_transaction_id,customer_id", "\(number),anna"]
            for (kind, lines) in [
                (ImportKind.revenueCat, lines), (.adapty, adapty), (.originalTransactionIDs, ids),
            ] {
                let found = try await Self.run(kind, lines, with: shop, in: folder)
                #expect(found.position.used == 0, "\(kind): \(found.report)")
                #expect(found.report.first?.contains("erased") == true, "\(found.report)")
                #expect(found.report.first?.contains("--anew") == true, "\(found.report)")
                #expect(try await !shop.engine.customers.isKnown("anna", app: "birds"), "\(kind)")
            }
            #expect(try await Self.attributes("anna", shop).isEmpty)
            #expect(try await shop.entitlement("premium", of: "anna")?["grant_id"] == nil)
            let owner = try await Database(shop.database).read { tx in
                try tx.links.find(
                    of: PurchaseID(TransactionID(rawValue: number), in: .production), in: "birds")
            }
            #expect(owner == nil)

            // The app's server adds the person again, and the person may have the purchase again.
            try await shop.support.post("/v1/customers/anna/aliases", ["customer_id": "anna-2"])
            _ = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await Self.attributes("anna", shop).isEmpty)
            #expect(try await shop.entitlement("premium", of: "anna")?["grant_id"] == nil)
        }
    }

    @Test func `an import does not add an erased customer under another id in the same row`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            // `guest-7` has the purchase and is erased. The file calls the same person `anna`, too.
            let before = [Self.header, Self.sold("guest-7", number, bird: "owl")]
            _ = try await Self.run(.revenueCat, before, with: shop, in: folder)
            _ = try await shop.engine.customers.erase("guest-7", app: "birds")
            let lines = [
                Self.header,
                Self.sold("anna", number, bird: "owl")
                    .replacing("\"anna\",\"anna\"", with: "\"guest-7\",\"anna\""),
                Self.granted("anna", "premium", until: "2126-01-01 00:00:00", "g1")
                    .replacing("\"anna\",\"anna\"", with: "\"guest-7\",\"anna\""),
            ]
            let found = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(found.position.used == 0 && found.report.count == 2, "\(found.report)")
            #expect(found.report.allSatisfy { $0.contains("erased") }, "\(found.report)")
            for id in ["anna", "guest-7"] as [CustomerID] {
                #expect(try await !shop.engine.customers.isKnown(id, app: "birds"), "\(id)")
            }

            // `anna` may be a customer again; `guest-7` never becomes her alias by a file.
            try await shop.support.post("/v1/customers/anna/aliases", ["customer_id": "anna-2"])
            let again = try await Self.run(.revenueCat, lines, with: shop, in: folder)
            #expect(again.position.used == 1, "\(again.report)")
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await Self.attributes("anna", shop).isEmpty)
            #expect(try await !shop.engine.customers.isKnown("guest-7", app: "birds"))
        }
    }

    @Test func `a grant is reported if another customer's grant has the same transaction id`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let until = "2126-01-01 00:00:00"
            let lines = [
                Self.header, Self.granted("anna", "premium", until: until, "g1"),
                Self.granted("ben", "premium", until: until, "g1"),
                Self.granted("anna", "pro", until: until, "g1"),
                Self.granted("anna", "premium", until: until, "g1")
                    .replacing("\"false\"", with: "\"true\""),
            ]
            var first: [String] = []
            for line in lines.dropFirst() {
                let found = try await Self.run(
                    .revenueCat, [Self.header, line], with: shop, in: folder)
                first += found.report
                #expect(found.position.used == (line == lines[1] ? 1 : 0), "\(line)")
            }
            #expect(first.count == 3, "\(first)")
            #expect(first.allSatisfy { $0.contains("same store_transaction_id") }, "\(first)")
            #expect(try await shop.entitlement("premium", of: "ben") == nil)
            // The same person under another id of the row keeps the grant.
            let later = lines[1].replacing("\"anna\",\"anna\"", with: "\"anna\",\"anna-2\"")
            let again = try await Self.run(
                .revenueCat, [Self.header, later], with: shop, in: folder)
            #expect(again.position.used == 1, "\(again.report)")
            #expect(try await shop.entitlement("premium", of: "anna-2")?["state"] == "granted")
        }
    }

    @Test
    func `an import from Adapty or Apphud gives customers access, and reports unusable rows`()
        async throws
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await shop.buyMonth("anna").text("original_transaction_id")
            let adapty = [
                "profile_id,event_type,event_datetime,transaction_id,original_transaction_id,"
                    + "environment,customer_user_id,store,attributes",
                "p1,subscription_started,2025-12-01T00:00:00Z,\(number),\(number),Production,"
                    + "anna,app_store,\"{\"\"bird\"\":\"\"owl\"\"}\"",
                "p1,subscription_renewed,2026-01-01T00:00:00Z,7,\(number),Production,anna,"
                    + "app_store,", "p2,access_level_updated,2026-01-01T00:00:00Z,,,,ben,adapty,",
                "p3,subscription_started,2026-01-01T00:00:00Z,GPA.1,GPA.1,Production,cleo,"
                    + "play_store,",
            ]
            let first = try await Self.run(.adapty, adapty, with: shop, in: folder)
            #expect(first.position.used == 2 && first.report.count == 2)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await Self.attributes("anna", shop) == ["bird": "owl"])

            let other = try await shop.buyMonth("ben").text("original_transaction_id")
            let apphud = [
                "id,event_name,transaction_id,original_transaction_id,store,environment,user_id",
                "1,subscription_started,\(other),\(other),app_store,production,ben",
                "2,subscription_renewed,8,\(other),app_store,production,anon_77",
                "3,promotional,,,app_store,production,ben",
            ]
            let second = try await Self.run(.apphud, apphud, with: shop, in: folder)
            #expect(second.position.used == 2 && second.report.count == 1)
            #expect(try await shop.entitlement("pro", of: "ben")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "anon_77") == nil)
        }
    }
}
