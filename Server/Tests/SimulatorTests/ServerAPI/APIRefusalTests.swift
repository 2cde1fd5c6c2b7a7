import AppStoreFormats
import Testing

@testable import Simulator

/// The API's refusals, with Apple's error numbers.
@Suite struct APIRefusalTests {
    /// In a row, TX is a subscription's second transaction and ORIG its first, GEM a consumable,
    /// LIFE a non-consumable, FAM a purchase shared by the family, APP the app transaction, and BOX
    /// the sandbox's transaction.
    private static let rows: [(Ask, Refused)] =
        transactions + histories + consumption + extensions + notifications

    private static let transactions: [(Ask, Refused)] = [
        (Ask("GET v1/nothing"), Refused(404, nil)),
        (Ask("DELETE v1/transactions/TX"), Refused(404, nil)),
        (Ask("GET v1/transactions/12x"), Refused(400, 4_000_006)),
        (Ask("GET v1/transactions/12345678901234567890"), Refused(400, 4_000_006)),
        (Ask("GET v1/transactions/1"), Refused(404, 4_040_010)),
        (Ask("GET v1/transactions/BOX"), Refused(404, 4_040_010)),
        (Ask("GET v1/transactions/TX", in: .sandbox), Refused(404, 4_040_010)),
        (Ask("GET v1/transactions/APP"), Refused(400, 4_000_048)),
        (Ask("GET v1/transactions/appTransactions/1"), Refused(404, 4_040_010)),
        (Ask("POST v1/transactions/1/finish"), Refused(404, 4_040_010)),
        (Ask("POST v1/transactions/APP/finish"), Refused(400, 4_000_048)),
        (Ask("GET v1/lookup/123"), Refused(400, 4_000_000)),
        (Ask("GET v1/lookup/M00000000ZZ", in: .sandbox), Refused(404, nil)),
        (Ask("PUT v1/transactions/TX/appAccountToken", body: token), Refused(400, 4_000_187)),
        (Ask("PUT v1/transactions/1/appAccountToken", body: token), Refused(404, 4_040_005)),
        (Ask("PUT v1/transactions/APP/appAccountToken", body: token), Refused(400, 4_000_048)),
        (Ask("PUT v1/transactions/FAM/appAccountToken", body: token), Refused(400, 4_000_185)),
        (
            Ask("PUT v1/transactions/ORIG/appAccountToken", body: ["appAccountToken": "anna"]),
            Refused(400, 4_000_183)
        ),
        (Ask("PUT v1/transactions/ORIG/appAccountToken"), Refused(400, 4_000_000)),
    ]

    private static let token: JSON = [
        "appAccountToken": "0cbe3f1b-7a5c-4b5e-8e54-d7c1f2a3b4c5"
    ]

    private static let histories: [(Ask, Refused)] = [
        (Ask("GET v2/history/1"), Refused(404, 4_040_010)),
        (Ask("GET v2/history/TX", [("revision", "x")]), Refused(400, 4_000_005)),
        (Ask("GET v2/history/TX", [("sort", "UP")]), Refused(400, 4_000_021)),
        (Ask("GET v2/history/TX", [("productType", "BOOK")]), Refused(400, 4_000_022)),
        (Ask("GET v2/history/TX", [("productId", "")]), Refused(400, 4_000_023)),
        (
            Ask("GET v2/history/TX", [("subscriptionGroupIdentifier", "")]),
            Refused(400, 4_000_024)
        ),
        (Ask("GET v2/history/TX", [("excludeRevoked", "1")]), Refused(400, 4_000_025)),
        (Ask("GET v2/history/TX", [("inAppOwnershipType", "MINE")]), Refused(400, 4_000_026)),
        (Ask("GET v2/history/TX", [("revoked", "perhaps")]), Refused(400, 4_000_030)),
        (
            Ask("GET v2/history/TX", [("revoked", "true"), ("excludeRevoked", "true")]),
            Refused(400, 4_000_030)
        ),
        (Ask("GET v2/history/TX", [("startDate", "today")]), Refused(400, 4_000_015)),
        (Ask("GET v2/history/TX", [("endDate", "-1")]), Refused(400, 4_000_016)),
        (
            Ask("GET v2/history/TX", [("startDate", "5"), ("endDate", "5")]),
            Refused(400, 4_000_016)
        ),
        (Ask("GET v1/subscriptions/TX", [("status", "6")]), Refused(400, 4_000_031)),
        (Ask("GET v2/refund/lookup/TX", [("revision", "1_")]), Refused(400, 4_000_005)),
        (Ask("GET v1/refund/lookup/TX"), Refused(404, 4_040_005)),
        (Ask("GET v1/refund/lookup/x"), Refused(400, 4_000_008)),
    ]

    private static func said(_ changes: [String: JSON]) -> JSON {
        var members: [String: JSON] = [
            "customerConsented": true, "sampleContentProvided": false,
            "deliveryStatus": "DELIVERED",
        ]
        members.merge(changes) { _, new in new }
        return .object(members.keys.sorted().map { .init($0, members[$0] ?? .null) })
    }

    private static let newer = "PUT v2/transactions/consumption"
    private static let older = "PUT v1/transactions/consumption"

    private static let consumption: [(Ask, Refused)] = [
        (Ask("\(newer)/GEM", body: said(["customerConsented": false])), Refused(400, 4_000_035)),
        (Ask("\(newer)/GEM", body: said(["deliveryStatus": "LOST"])), Refused(400, 4_000_036)),
        (
            Ask("\(newer)/GEM", body: said(["sampleContentProvided": .null])),
            Refused(400, 4_000_041)
        ),
        (Ask("\(newer)/GEM", body: said(["refundPreference": "MAYBE"])), Refused(400, 4_000_044)),
        (Ask("\(newer)/FAM", body: said([:])), Refused(400, 4_000_185)),
        (Ask("\(newer)/APP", body: said([:])), Refused(400, 4_000_048)),
        (
            Ask("\(newer)/GEM", body: said(["consumptionPercentage": 100_001])),
            Refused(400, 4_000_207)
        ),
        (
            Ask("\(newer)/GEM", body: said(["refundPreference": "GRANT_PRORATED"])),
            Refused(400, 4_000_207)
        ),
        (
            Ask(
                "\(newer)/GEM",
                body: said([
                    "deliveryStatus": "UNDELIVERED_OTHER", "consumptionPercentage": 1,
                ])), Refused(400, 4_000_208)
        ),
        (Ask("\(newer)/TX", body: said(["consumptionPercentage": 0])), Refused(400, 4_000_209)),
        (Ask("\(older)/LIFE", body: said(["deliveryStatus": 0])), Refused(400, 4_000_047)),
        (Ask("\(older)/GEM", body: said(["deliveryStatus": 6])), Refused(400, 4_000_036)),
        (
            Ask("\(older)/GEM", body: said(["deliveryStatus": 0, "appAccountToken": "x"])),
            Refused(400, 4_000_033)
        ),
        (
            Ask("\(older)/GEM", body: said(["deliveryStatus": 0, "accountTenure": 8])),
            Refused(400, 4_000_032)
        ),
    ]

    private static func extending(_ changes: [String: JSON] = [:]) -> JSON {
        var members: [String: JSON] = [
            "extendByDays": 30, "extendReasonCode": 3,
            "requestIdentifier": "758883e8-151b-47b7-abd0-60c4d804c2f5",
            "productId": "pro",
        ]
        members.merge(changes) { _, new in new }
        return .object(members.keys.sorted().map { .init($0, members[$0] ?? .null) })
    }

    private static let one = "PUT v1/subscriptions/extend"
    private static let mass = "POST v1/subscriptions/extend/mass"

    private static let extensions: [(Ask, Refused)] = [
        (Ask("\(one)/ORIG", body: extending(["extendByDays": 0])), Refused(400, 4_000_009)),
        (Ask("\(one)/ORIG", body: extending(["extendByDays": 91])), Refused(400, 4_000_009)),
        (Ask("\(one)/ORIG", body: extending(["extendReasonCode": 4])), Refused(400, 4_000_010)),
        (Ask("\(one)/ORIG", body: extending(["requestIdentifier": ""])), Refused(400, 4_000_011)),
        (Ask("\(one)/TX", body: extending()), Refused(404, 4_040_005)),
        (Ask("\(one)/GEM", body: extending()), Refused(403, 4_030_004)),
        (Ask("\(one)/FAM", body: extending()), Refused(403, 4_030_007)),
        (Ask(mass, body: extending(["productId": "GEMS"])), Refused(400, 4_000_023)),
        (Ask(mass, body: extending(["requestIdentifier": "a"])), Refused(400, 4_000_011)),
        (Ask(mass, body: extending(["storefrontCountryCodes": []])), Refused(400, 4_000_027)),
        (
            Ask(mass, body: extending(["storefrontCountryCodes": ["ZZZ"]])),
            Refused(400, 4_000_028)
        ),
        (
            Ask("GET v1/subscriptions/extend/mass/pro/x"), Refused(400, 4_000_011)
        ),
        (
            Ask(
                "GET v1/subscriptions/extend/mass/pro/"
                    + "758883e8-151b-47b7-abd0-60c4d804c2f5"), Refused(404, 4_040_009)
        ),
    ]

    private static func asking(_ changes: [String: JSON] = [:]) -> JSON {
        // One day around the time of the tests.
        var members: [String: JSON] = [
            "startDate": 1_768_000_000_000, "endDate": 1_768_100_000_000,
        ]
        members.merge(changes) { _, new in new }
        return .object(members.keys.sorted().map { .init($0, members[$0] ?? .null) })
    }

    private static let told = "POST v1/notifications/history"

    private static let notifications: [(Ask, Refused)] = [
        (Ask(told), Refused(400, 4_000_000)),
        (Ask(told, body: asking(["startDate": .null])), Refused(400, 4_000_015)),
        (Ask(told, body: asking(["endDate": "x"])), Refused(400, 4_000_016)),
        (Ask(told, body: asking(["startDate": 1])), Refused(400, 4_000_012)),
        (Ask(told, body: asking(["endDate": 1_768_000_000_000])), Refused(400, 4_000_013)),
        (
            Ask(told, [("paginationToken", "x")], body: asking()), Refused(400, 4_000_014)
        ),
        (Ask(told, body: asking(["notificationType": "NEWS"])), Refused(400, 4_000_018)),
        (Ask(told, body: asking(["notificationSubtype": "PENDING"])), Refused(400, 4_000_018)),
        (
            Ask(told, body: asking(["notificationType": "TEST", "transactionId": "1"])),
            Refused(400, 4_000_019)
        ),
        (Ask(told, body: asking(["transactionId": "1"])), Refused(404, 4_040_010)),
        (Ask("GET v1/notifications/test/x"), Refused(400, 4_000_020)),
        (
            Ask("GET v1/notifications/test/758883e8-151b-47b7-abd0-60c4d804c2f5_1"),
            Refused(404, 4_040_008)
        ),
    ]

    /// Anna's month, ben's gem and non-consumable, cleo's share from her family, and a sandbox
    /// purchase.
    private func stage() async throws -> (Stage, ids: [(String, String)]) {
        let stage = try Stage(shop: TableShop.file())
        let simulator = stage.simulator
        try await simulator.addDevice(account: "anna")
        try await simulator.addDevice(account: "cleo", family: "birds")
        try await simulator.addDevice(account: "dora", family: "birds")
        try await simulator.addDevice(account: "box", environment: .sandbox)
        let pro = try await stage.buy("pro")
        try await stage.advance("P1M")
        let gem = try await stage.buy("gem")
        let life = try await stage.buy("map")
        _ = try await simulator.purchase(PurchaseOrder("pro"), on: "cleo-1")
        let box = try await simulator.purchase(PurchaseOrder("pro"), on: "box-1")
        let world = await simulator.world
        let second = try world.subscription(pro.originalTransactionID).latest.id
        let dora = Account.Key(name: "dora", environment: .production)
        let shared = try require(world.transactions(of: dora).first?.id, "nothing is shared")
        let app = try require(
            world.accounts[Account.Key(name: "anna", environment: .production)]?
                .appTransactionID, "no app transaction")
        return (
            stage,
            [
                ("ORIG", pro.originalTransactionID), ("TX", second), ("GEM", gem.transactionID),
                ("LIFE", life.transactionID), ("FAM", shared), ("APP", app),
                ("BOX", box.transactionID),
            ]
        )
    }

    @Test func `each invalid request is refused with Apple's error number`() async throws {
        let (stage, ids) = try await stage()
        for (row, expected) in Self.rows {
            var ask = row
            for (name, id) in ids {
                ask.line = ask.line.replacing("/\(name)", with: "/\(id)")
            }
            #expect(try await stage.refusal(ask) == expected, "\(row.line) \(row.query)")
        }
    }

    @Test func `each id in the table of refusals is valid`()
        async throws
    {
        let (stage, ids) = try await stage()
        for (name, id) in ids where !["APP", "BOX"].contains(name) {
            #expect(try await stage.answer(Ask("GET v1/transactions/\(id)")).status == 200)
        }
    }

    @Test func `an error response has a number and a message`() async throws {
        let answer = try await Stage().answer(Ask("GET v1/transactions/1"))
        #expect(
            answer.body == ["errorCode": 4_040_010, "errorMessage": "Transaction id not found."])
    }
}
