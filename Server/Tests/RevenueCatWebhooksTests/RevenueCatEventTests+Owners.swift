import Foundation
import Ledger
import PerennialContract
import Testing

@testable import RevenueCatWebhooks

/// Webhooks about the owner of a purchase, and about what was not bought in the App Store.
extension RevenueCatEventTests {
    @Test func `a manual grant is a promotional purchase`() throws {
        let grant = PerennialContract.Grant(
            grantID: "grt_1", entitlement: "pro",
            from: Timestamp(milliseconds: Self.first.milliseconds), until: nil, reason: "sorry",
            withdrawnAt: nil)
        let event = Self.event(.granted) { $0.grant = grant }
        let rendered = try #require(
            RevenueCatEvent.events(for: event, in: Self.context(nil)).first)
        #expect(rendered.kind == .nonRenewingPurchase)
        #expect(Set(rendered.keys) == Self.lifecycle.subtracting(["app_id"]))
        let expected: [(String, RevenueCatValue)] = [
            ("store", .string("PROMOTIONAL")), ("period_type", .string("PROMOTIONAL")),
            ("environment", .string("PRODUCTION")), ("price", .null), ("currency", .null),
            ("transaction_id", .null), ("product_id", .string("rc_promo_pro_custom")),
            ("entitlement_ids", .list([.string("pro")])),
        ]
        for (key, value) in expected { #expect(rendered.value(key) == value, "\(key)") }
    }

    @Test func `the webhook of a moved purchase lists the ids of the old and of the new owner`()
        throws
    {
        var context = Self.context()
        context.formerCustomer = .init(first: "ben", last: "ben", all: ["ben"])
        let rendered = try #require(
            RevenueCatEvent.events(for: Self.event(.moved), in: context).first)
        #expect(rendered.value("transferred_from") == .list([.string("ben")]))
        #expect(
            rendered.value("transferred_to")
                == .list([.string("user-77"), .string("$RCAnonymousID:0a")]))
    }

    @Test(arguments: [EventType.moved, .linked])
    func `a purchase that moved to the same person, as by a merge, is not a transfer`(
        type: EventType
    ) {
        var context = Self.context()
        context.formerCustomer = Self.ids
        #expect(RevenueCatEvent.events(for: Self.event(type), in: context).isEmpty)
        // The receiver knew the purchase by one of the person's ids.
        context.formerCustomer = .init(first: "user-77", last: "user-77", all: ["user-77"])
        #expect(RevenueCatEvent.events(for: Self.event(type), in: context).isEmpty)
    }

    @Test func `an id of the new owner is never listed as an id of the previous owner`() throws {
        var context = Self.context()
        context.formerCustomer = .init(first: "ben", last: "ben", all: ["ben", "user-77"])
        let rendered = try #require(
            RevenueCatEvent.events(for: Self.event(.linked), in: context).first)
        #expect(rendered.kind == .transfer)
        #expect(rendered.value("transferred_from") == .list([.string("ben")]))
    }

    @Test
    func `if the receiver knows another owner, the purchase's event is sent after a TRANSFER`()
        throws
    {
        var context = Self.context()
        context.isToldOfAnother = true
        let event = Self.event(.linked) {
            $0.purchaseID = Self.purchase.description
            ($0.before, $0.after) = (Self.status(.paid), Self.status(.paid))
        }
        let rendered = RevenueCatEvent.events(for: event, in: context)
        #expect(rendered.map(\.kind) == [.transfer, .subscriptionExtended])
        #expect(rendered[1].value("app_user_id") == .string("user-77"))
        #expect(rendered[1].value("entitlement_ids") == .list([.string("pro")]))
    }

    @Test func `after a transfer, the former owner's remaining purchases are sent`() throws {
        var context = Self.context()
        context.formerCustomer = .init(first: "ben", last: "ben", all: ["ben"])
        var other = Self.event(.extended) {
            ($0.customerID, $0.purchaseID) = ("ben", "production:9")
            ($0.before, $0.after) = (Self.status(.owned), Self.status(.owned))
        }
        other.productID = "atlas"
        let his = RevenueCatContext(
            app: "birds", customer: context.formerCustomer, entitlements: ["atlas"])
        context.remaining = [.init(other, his)]
        let rendered = RevenueCatEvent.events(for: Self.event(.moved), in: context)
        #expect(rendered.map(\.kind) == [.transfer, .subscriptionExtended])
        #expect(rendered[1].value("app_user_id") == .string("ben"))
        #expect(rendered[1].value("product_id") == .string("atlas"))
        // If the owner did not change, there is nothing to send.
        context.formerCustomer = context.customer
        #expect(RevenueCatEvent.events(for: Self.event(.moved), in: context).isEmpty)
    }

    @Test func `a purchase that moves away from an account token names the token as former owner`()
        throws
    {
        var context = RevenueCatContext(app: "birds", timeline: Self.timeline())
        context.accountToken = "a0000000-0000-4000-8000-000000000001"
        let event = Self.event(.movedAway) {
            ($0.customerID, $0.purchaseID) = (nil, Self.purchase.description)
        }
        let rendered = try #require(RevenueCatEvent.events(for: event, in: context).first)
        #expect(rendered.kind == .transfer)
        #expect(
            rendered.value("transferred_from")
                == .list([.string("a0000000-0000-4000-8000-000000000001")]))
    }

    @Test func `an unlinked purchase is transferred to its anonymous customer`() throws {
        var context = Self.context()
        context.anonymousID = "$RCAnonymousID:1b"
        let event = Self.event(.unlinked) { $0.purchaseID = Self.purchase.description }
        let rendered = try #require(RevenueCatEvent.events(for: event, in: context).first)
        #expect(
            rendered.value("transferred_from")
                == .list([.string("user-77"), .string("$RCAnonymousID:0a")]))
        #expect(rendered.value("transferred_to") == .list([.string("$RCAnonymousID:1b")]))
    }

    @Test func `if one event causes two webhooks, the price of one of them is 0`() {
        let refund = Self.event(.refunded) {
            $0.money = PerennialContract.Money(amount: "-9.99", currency: "USD")
            ($0.before, $0.after) = (Self.status(.paid), Self.status(.refunded, active: false))
        }
        let refunds = RevenueCatEvent.events(for: refund, in: Self.context())
        #expect(refunds.map { $0.value("price") } == [.number(-9.99), .number(0)])
        let upgrade = Self.event(.upgraded) {
            $0.money = PerennialContract.Money(amount: "19.99", currency: "USD")
            $0.before = Self.status(.paid)
        }
        let upgrades = RevenueCatEvent.events(for: upgrade, in: Self.context())
        #expect(upgrades.map { $0.value("price") } == [.number(0), .number(19.99)])
    }

    @Test func `a purchase without an owner is sent only if it has an account token`() throws {
        for type in EventType.known {
            let event = Self.event(type) {
                ($0.customerID, $0.purchaseID) = (nil, Self.purchase.description)
            }
            let bare = RevenueCatContext(app: "birds", timeline: Self.timeline())
            #expect(RevenueCatEvent.events(for: event, in: bare).isEmpty, "\(type.rawValue)")
        }
        var named = RevenueCatContext(app: "birds", timeline: Self.timeline())
        named.accountToken = "a0000000-0000-4000-8000-000000000001"
        let event = Self.event(.purchased) {
            ($0.customerID, $0.purchaseID) = (nil, Self.purchase.description)
        }
        let rendered = try #require(RevenueCatEvent.events(for: event, in: named).first)
        #expect(rendered.kind == .initialPurchase)
        #expect(
            rendered.value("app_user_id") == .string("a0000000-0000-4000-8000-000000000001"))
    }

    @Test func `the credits of one purchase in two currencies are one transaction`() throws {
        let seeds = WalletMovement(currency: "seeds", amount: 100, before: 0, after: 100)
        let gems = WalletMovement(currency: "gems", amount: 5, before: 1, after: 6)
        let event = Self.event(.walletCredited) {
            ($0.wallet, $0.purchaseID, $0.transactionID) = (gems, Self.purchase.description, "1")
        }
        var context = Self.context(nil)
        context.movements = [gems, seeds]
        let rendered = RevenueCatEvent.events(for: event, in: context)
        #expect(rendered.map(\.kind) == [.virtualCurrencyTransaction])
        guard case .list(let adjustments)? = rendered.first?.value("adjustments") else {
            throw MissingID()
        }
        let amounts = adjustments.map { adjustment in
            guard case .object(let members) = adjustment else { return RevenueCatValue.null }
            return members.first?.value ?? .null
        }
        #expect(amounts == [.integer(5), .integer(100)])
        // The event of the other currency.
        context.movements = nil
        #expect(RevenueCatEvent.events(for: event, in: context).isEmpty)
    }

    private struct MissingID: Error {}

    @Test func `a debit is a transaction of a virtual currency`() throws {
        let event = Self.event(.walletDebited) {
            $0.wallet = WalletMovement(
                currency: "seeds", amount: -30, before: 100, after: 70, debitID: "dbt_1")
        }
        let rendered = try #require(
            RevenueCatEvent.events(for: event, in: Self.context(nil)).first)
        #expect(rendered.value("source") == .string("admin_api"))
        #expect(rendered.value("virtual_currency_transaction_id") == .string("dbt_1"))
        guard case .list(let adjustments)? = rendered.value("adjustments"),
            case .object(let members)? = adjustments.first
        else { throw MissingID() }
        #expect(members.first?.value == .integer(-30))
    }

    @Test func `a manual credit is a virtual currency transaction without a purchase`() throws {
        let event = Self.event(.walletCreditedByHand) {
            $0.wallet = WalletMovement(
                currency: "seeds", amount: 50, before: 0, after: 50, creditID: "crd_1")
        }
        let rendered = try #require(
            RevenueCatEvent.events(for: event, in: Self.context(nil)).first)
        #expect(rendered.value("source") == .string("admin_api"))
        #expect(rendered.value("virtual_currency_transaction_id") == .string("crd_1"))
    }

    @Test func `storefronts become two-letter country codes`() {
        for (three, two) in [("DEU", "DE"), ("USA", "US"), ("XKS", "XK"), ("SWE", "SE")] {
            #expect(CountryCodes.two(three) == two)
        }
        #expect(CountryCodes.two("ZZZ") == nil)
    }
}
