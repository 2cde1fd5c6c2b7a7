import Ledger
import Testing

@Suite struct PaidAppTests {
    private static let since = Instant(milliseconds: 1_500_000_000_000)
    private static let signedAt = Instant(milliseconds: 1_700_000_000_000)

    private static func fact(
        _ version: String?, in environment: Environment = .production, isOnMac: Bool = false,
        at moment: Instant = signedAt
    ) -> Fact {
        let copy = AppPurchase(
            transaction: "704", from: since, version: version, isOnMac: isOnMac)
        return Fact(
            about: PurchaseID(ofApp: "704", in: environment), attestedAt: moment,
            .appPurchase(copy))
    }

    private static func timeline(_ facts: Fact...) -> Timeline {
        Timeline(of: facts[0].purchase, facts)
    }

    @Test(arguments: [
        ("2.9", "3.0", true), ("3.0", "3", false), ("3", "3.0", false), ("10.0", "9.5", false),
        ("1.9", "1.10", true), ("1.10", "1.9", false), ("417", "1000", true),
        ("3.0.0.1", "3.0", false), ("02.5", "3", true), ("202611250001", "202611250002", true),
    ])
    func `two app versions are compared number by number`(
        one: String, other: String, isBefore: Bool
    )
        throws
    {
        let (one, other) = (try #require(AppVersion(one)), try #require(AppVersion(other)))
        #expect((one < other) == isBefore)
    }

    @Test(arguments: ["", "3.", ".3", "1.0b2", "v2", "-1", "1,0", "1 0", "99999999999999999999"])
    func `an app version that is not made of numbers gives no access`(text: String) throws {
        #expect(AppVersion(text) == nil)
        let rule = PaidAppRule(before: try #require(AppVersion("9")), entitlements: ["pro"])
        let timeline = Self.timeline(Self.fact(text))
        #expect(rule.access(to: "pro", through: timeline, of: "birds") == nil)
    }

    @Test func `a customer who got the app before it was free owns the paid app's entitlements`()
        throws
    {
        let rule = PaidAppRule(
            before: try #require(AppVersion("3.0")), beforeOnMac: AppVersion("2.0"),
            entitlements: ["pro"])
        func gives(_ fact: Fact, _ entitlement: EntitlementID = "pro") -> Bool {
            let timeline = Self.timeline(fact)
            return rule.access(to: entitlement, through: timeline, of: "birds")?.isOpen == true
        }
        #expect(gives(Self.fact("2.9")))
        #expect(!gives(Self.fact("3.0")) && !gives(Self.fact(nil)))
        #expect(!gives(Self.fact("2.9"), "plus"))
        #expect(gives(Self.fact("1.9", isOnMac: true)))
        #expect(!gives(Self.fact("2.9", isOnMac: true)))
        let access = rule.access(
            to: "pro", through: Self.timeline(Self.fact("2.9")), of: "birds")
        #expect(access?.state == .owned && access?.until == nil && access?.product == "birds")
        #expect(
            access?.reason.sentence
                == "The paid app was bought on 2017-07-14 02:40 UTC, at version 2.9.")
    }

    @Test
    func `in the sandbox, where all app versions are equal, the paid-app rule is off by default`()
        throws
    {
        var rule = PaidAppRule(before: try #require(AppVersion("3.0")), entitlements: ["pro"])
        let timeline = Self.timeline(Self.fact("1.0", in: .sandbox))
        #expect(rule.access(to: "pro", through: timeline, of: "birds") == nil)
        rule.countsInSandbox = true
        #expect(rule.access(to: "pro", through: timeline, of: "birds") != nil)
    }

    @Test
    func `if there are several proofs of purchase, the earliest app version counts`()
        throws
    {
        let facts = [
            Self.fact("2.9"), Self.fact("2.7", at: Self.signedAt + .seconds(1)),
            Self.fact("2.8", at: Self.signedAt + .seconds(1)),
            Self.fact("4.0", at: Self.signedAt + .days(9)), Self.fact(nil),
            Self.fact("1.5b", at: Self.signedAt + .days(10)),
        ]
        let rule = PaidAppRule(before: try #require(AppVersion("2.8")), entitlements: ["pro"])
        for order in Self.orders(of: facts) {
            let timeline = Timeline(of: facts[0].purchase, order)
            #expect(timeline.appProofs?.all.map(\.value.version) == ["2.7"])
            #expect(rule.access(to: "pro", through: timeline, of: "birds")?.state == .owned)
            #expect(timeline.access(at: Self.signedAt + .days(1)) == nil)
        }
    }

    @Test func `iOS and macOS have separate version limits, and a proof for either is enough`()
        throws
    {
        let (phone, mac) = (
            Self.fact("417"), Self.fact("2100.1", isOnMac: true, at: Self.signedAt + .hours(1))
        )
        let rules: [(before: String, onMac: String?, isOpen: Bool)] = [
            ("418", nil, true), ("417", nil, false), ("417", "2100.2", true),
            ("417", "2100.1", false), ("418", "2100.1", true),
        ]
        for facts in [[phone, mac], [mac, phone], [phone, mac, phone]] {
            let timeline = Timeline(of: phone.purchase, facts)
            #expect(timeline.appProofs?.all.map(\.value.version) == ["417", "2100.1"])
            for row in rules {
                let rule = PaidAppRule(
                    before: try #require(AppVersion(row.before)),
                    beforeOnMac: row.onMac.flatMap(AppVersion.init), entitlements: ["pro"])
                let access = rule.access(to: "pro", through: timeline, of: "birds")
                #expect((access != nil) == row.isOpen, "\(row)")
            }
        }
    }

    /// Every rotation of the facts, forwards and backwards.
    private static func orders(of facts: [Fact]) -> [[Fact]] {
        facts.indices.flatMap { first in
            let order = Array(facts[first...] + facts[..<first])
            return [order, order.reversed()]
        }
    }

    @Test func `a purchase of the app itself is never checked with the App Store`() {
        let timeline = Self.timeline(Self.fact("2.9"))
        let due = timeline.nextCheck(CheckHistory(knownAt: Self.signedAt))
        #expect(due > Self.signedAt + .days(365_000))
    }
}
