import Foundation
import Ledger
import PerennialContract
import Testing

@testable import RevenueCatWebhooks

/// Our webhooks contain every key that a handler of RevenueCat's webhooks reads.
@Suite struct RevenueCatEventTests {
    static let first = Instant(milliseconds: 1_772_366_400_000)
    static let purchase = PurchaseID("2000000100000001", in: .production)
    static let ids = RevenueCatContext.CustomerIDs(
        first: "$RCAnonymousID:0a", last: "user-77", all: ["user-77", "$RCAnonymousID:0a"])

    /// The keys that RevenueCat documents for every event of a purchase's life.
    static let lifecycle: Set = [
        "type", "id", "event_timestamp_ms", "app_id", "app_user_id", "original_app_user_id",
        "aliases", "product_id", "entitlement_id", "entitlement_ids", "period_type",
        "purchased_at_ms", "expiration_at_ms", "environment", "store", "transaction_id",
        "original_transaction_id", "presented_offering_id", "is_family_share", "country_code",
        "currency", "price", "price_in_purchased_currency", "tax_percentage",
        "commission_percentage", "takehome_percentage", "offer_code", "subscriber_attributes",
        "metadata",
    ]

    static let table: [(kind: RevenueCatKind, keys: Set<String>)] = [
        (.initialPurchase, lifecycle),
        (
            .renewal(isTrialConversion: true),
            lifecycle.union(["is_trial_conversion", "renewal_number"])
        ),
        (.cancellation(.unsubscribe), lifecycle.union(["cancel_reason"])),
        (.uncancellation, lifecycle),
        (.nonRenewingPurchase, lifecycle),
        (.expiration(.billingError), lifecycle.union(["expiration_reason"])),
        (.billingIssue, lifecycle.union(["grace_period_expiration_at_ms"])),
        (.productChange(to: "pro.year"), lifecycle.union(["new_product_id"])),
        (.productChange(to: nil), lifecycle),
        (.subscriptionExtended, lifecycle),
        (.refundReversed, lifecycle.union(["renewal_number"])),
        (.priceIncreaseConsentRequired, lifecycle),
        (.priceIncreaseConsentApproved, lifecycle),
        (.test, lifecycle),
        (
            .transfer,
            [
                "type", "id", "event_timestamp_ms", "app_id", "store", "environment",
                "transferred_from", "transferred_to",
            ]
        ),
        (
            .virtualCurrencyTransaction,
            [
                "type", "id", "event_timestamp_ms", "app_id", "app_user_id",
                "original_app_user_id", "aliases", "adjustments", "product_id",
                "product_display_name", "purchase_environment", "source", "transaction_id",
                "virtual_currency_transaction_id", "store",
            ]
        ),
    ]

    static func event(
        _ type: EventType, _ change: (inout PerennialContract.Event) -> Void = { _ in }
    ) -> PerennialContract.Event {
        var event = PerennialContract.Event(
            id: "evt_7", sequence: 7, type: type, at: Timestamp(milliseconds: first.milliseconds),
            knownAt: Timestamp(milliseconds: first.milliseconds + 5_000), customerID: "user-77",
            cause: .init(kind: "document"))
        change(&event)
        return event
    }

    /// Three months of a subscription, of which the first was a trial.
    static func timeline(
        kind: ProductKind = .autoRenewable, renewal: Renewal? = nil
    ) -> Timeline {
        let month = Duration.days(30)
        let payments = (0..<3).map { index in
            let from = first - month * (2 - index)
            return Payment(
                transaction: TransactionID(rawValue: "\(index + 1)"), product: "pro.month",
                kind: kind, from: from, until: kind == .autoRenewable ? from + month : nil,
                terms: index == 0 ? .trial : .full,
                price: Ledger.Money(milliunits: index == 0 ? 0 : 9_990, currency: "EUR"),
                isRenewal: index > 0, storefront: "DEU")
        }
        let facts = payments.map { Fact(about: purchase, attestedAt: first, .payment($0)) }
        let news = renewal.map { Fact(about: purchase, attestedAt: first, .renewal($0)) }
        return Timeline(of: purchase, facts + [news].compactMap(\.self))
    }

    static func context(_ timeline: Timeline? = timeline()) -> RevenueCatContext {
        RevenueCatContext(
            app: "birds", customer: ids, timeline: timeline, entitlements: ["pro"],
            offering: "default")
    }

    static func status(
        _ state: AccessState, active: Bool = true
    ) -> PurchaseCondition {
        PurchaseCondition(
            productID: "pro.month", active: active, state: state,
            until: active ? Timestamp(milliseconds: first.milliseconds + 60_000) : nil,
            willRenew: true)
    }

    @Test func `each RevenueCat type has exactly the keys that RevenueCat documents`() {
        for (kind, keys) in Self.table {
            let rendered = RevenueCatMembers(
                event: Self.event(.renewed), context: Self.context(), kind: kind, id: "id")
            let found = rendered.list.map(\.key)
            #expect(Set(found) == keys, "\(kind.type)")
            #expect(found.count == keys.count, "\(kind.type)")
            // If nothing is known, the keys are the same and their values are null.
            let bare = RevenueCatMembers(
                event: Self.event(.renewed) { $0.customerID = nil },
                context: RevenueCatContext(app: "birds"), kind: kind, id: "id")
            #expect(bare.list.map(\.key) == found, "\(kind.type)")
        }
        let types = Set(Self.table.map(\.kind.type))
        #expect(types.count == 15)
    }

    @Test func `the webhook of a renewal equals the webhook that RevenueCat sends`() throws {
        let event = Self.event(.renewed) {
            ($0.transactionID, $0.originalTransactionID) = ("3", "2000000100000001")
            ($0.productID, $0.purchaseID) = ("pro.month", Self.purchase.description)
            ($0.environment, $0.ownership) = (.production, .purchased)
            ($0.before, $0.after) = (Self.status(.paid), Self.status(.paid))
            $0.money = PerennialContract.Money(amount: "9.99", currency: "EUR")
        }
        let rendered = RevenueCatEvent.events(for: event, in: Self.context())
        let only = try #require(rendered.first)
        #expect(rendered.count == 1)
        let text = String(decoding: try ContractEncoder().encode(only), as: UTF8.self)
        let expected = """
            {"api_version":"1.0","event":{"type":"RENEWAL","id":"\(only.id)",\
            "event_timestamp_ms":1772366405000,"app_id":"birds","app_user_id":"user-77",\
            "original_app_user_id":"$RCAnonymousID:0a",\
            "aliases":["user-77","$RCAnonymousID:0a"],"product_id":"pro.month",\
            "entitlement_id":null,"entitlement_ids":["pro"],"period_type":"NORMAL",\
            "purchased_at_ms":1772366400000,"expiration_at_ms":1774958400000,\
            "environment":"PRODUCTION","store":"APP_STORE","transaction_id":"3",\
            "original_transaction_id":"2000000100000001","presented_offering_id":"default",\
            "is_family_share":false,"country_code":"DE","currency":"EUR","price":null,\
            "price_in_purchased_currency":9.99,"tax_percentage":null,\
            "commission_percentage":null,"takehome_percentage":null,"offer_code":null,\
            "subscriber_attributes":{},"metadata":null,"renewal_number":3,\
            "is_trial_conversion":false}}
            """
        #expect(text == expected)
    }

    @Test func `all attempts to deliver a webhook have the same id, and every webhook has its own`()
    {
        let failed = Self.event(.billingFailed) { $0.before = Self.status(.paid) }
        let ids = RevenueCatEvent.events(for: failed, in: Self.context()).map(\.id)
        #expect(ids == RevenueCatEvent.events(for: failed, in: Self.context()).map(\.id))
        #expect(Set(ids).count == 3)
        for id in ids { #expect(UUID(uuidString: id)?.uuidString == id) }
    }

    @Test
    func `each of our event types is sent as the RevenueCat types in docs/webhooks-revenuecat.md`()
        throws
    {
        let (paid, retry) = (Self.status(.paid), Self.status(.retry, active: false))
        let (grace, refunded) = (Self.status(.grace), Self.status(.refunded, active: false))
        let (expired, trial) = (Self.status(.expired, active: false), Self.status(.trial))
        let rows: [(EventType, PurchaseCondition?, PurchaseCondition?, String?, [RevenueCatKind])] =
            [
                (.purchased, nil, paid, nil, [.initialPurchase]),
                (.trialStarted, nil, trial, nil, [.initialPurchase]),
                (.trialConverted, trial, paid, nil, [.renewal(isTrialConversion: false)]),
                (.renewed, paid, paid, nil, [.renewal(isTrialConversion: false)]),
                (.billingRecovered, retry, paid, nil, [.renewal(isTrialConversion: false)]),
                (.resubscribed, expired, paid, nil, [.renewal(isTrialConversion: false)]),
                (
                    .billingFailed, paid, grace, nil, [.billingIssue, .cancellation(.billingError)]
                ),
                (
                    .billingFailed, paid, retry, nil,
                    [.billingIssue, .cancellation(.billingError), .expiration(.billingError)]
                ),
                (.graceBegan, paid, grace, nil, []),
                // Closed access opens again, whatever the kind of the event.
                (.graceBegan, expired, grace, nil, [.subscriptionExtended]),
                (.accessChanged, refunded, paid, nil, [.subscriptionExtended]),
                (.accessChanged, paid, expired, nil, [.expiration(.unknown)]),
                (.revoked, paid, refunded, nil, [.expiration(.unknown)]),
                (.renewalKnown, paid, expired, nil, [.expiration(.unknown)]),
                (.priceCorrected, paid, paid, nil, []),
                (.graceEnded, grace, retry, nil, [.expiration(.billingError)]),
                (.retryBegan, paid, retry, nil, [.expiration(.billingError)]),
                (.expired, retry, expired, "billing", []),
                (.expired, paid, expired, "cancelled", [.expiration(.unsubscribe)]),
                (.expired, paid, expired, "price_not_agreed", [.expiration(.priceIncrease)]),
                (
                    .expired, paid, expired, "product_unavailable",
                    [.expiration(.developerInitiated)]
                ),
                (.expired, paid, expired, "other", [.expiration(.unknown)]),
                (
                    .refunded, paid, refunded, nil,
                    [.cancellation(.customerSupport), .expiration(.customerSupport)]
                ),
                (.refunded, paid, paid, nil, []),
                (.refundReversed, refunded, paid, nil, [.refundReversed]),
                (.renewalTurnedOff, paid, paid, nil, [.cancellation(.unsubscribe)]),
                (.renewalTurnedOn, paid, paid, nil, [.uncancellation]),
                (.extended, paid, paid, nil, [.subscriptionExtended]),
                // It had no owner before. It returned to the customer whom its account token names.
                (.linked, paid, paid, nil, []), (.moved, paid, paid, nil, [.transfer]),
                (.movedAway, paid, paid, nil, []), (.unlinked, paid, paid, nil, [.transfer]),
                (EventType(rawValue: "a_later_type"), paid, paid, nil, []),
            ]
        for (type, before, after, why, kinds) in rows {
            let event = Self.event(type) { ($0.before, $0.after, $0.why) = (before, after, why) }
            let found = RevenueCatEvent.events(for: event, in: Self.context()).map(\.kind)
            #expect(found == kinds, "\(type.rawValue) \(why ?? "")")
        }
    }

    @Test func `a purchase that gives no access causes no EXPIRATION webhook`() {
        let pack = Self.context(Self.timeline(kind: .consumable))
        let kinds = RevenueCatEvent.events(for: Self.event(.purchased), in: pack).map(\.kind)
        #expect(kinds == [.nonRenewingPurchase])
    }

    @Test func `a one-time purchase is not a subscription`() {
        let once = Self.context(Self.timeline(kind: .nonConsumable))
        let bought = RevenueCatEvent.events(for: Self.event(.purchased), in: once)
        #expect(bought.map(\.kind) == [.nonRenewingPurchase])
        #expect(bought[0].value("expiration_at_ms") == .null)
        let refund = Self.event(.refunded) {
            ($0.before, $0.after) = (Self.status(.owned), Self.status(.refunded, active: false))
        }
        let refunded = RevenueCatEvent.events(for: refund, in: once)
        #expect(refunded.map(\.kind) == [.cancellation(.customerSupport)])
        #expect(refunded[0].value("expiration_at_ms") == .null)
    }

    static let payments: [EventType] = [
        .purchased, .trialStarted, .familyShared, .seatAssigned, .trialConverted, .renewed,
        .billingRecovered, .resubscribed, .productChanged, .upgraded,
    ]

    @Test(arguments: payments)
    func `the first payment after a free period is its conversion, whatever the event's type`(
        type: EventType
    ) {
        for (transaction, isConversion) in [("1", false), ("2", true), ("3", false)] {
            let event = Self.event(type) {
                ($0.transactionID, $0.before) = (transaction, Self.status(.trial))
            }
            let last = RevenueCatEvent.events(for: event, in: Self.context()).last
            #expect(last?.kind == .renewal(isTrialConversion: isConversion), "\(transaction)")
        }
    }

    @Test(arguments: payments)
    func `only the first event of a subscription is its initial purchase`(
        type: EventType
    ) {
        let first = RevenueCatEvent.events(for: Self.event(type), in: Self.context())
        #expect(first.map(\.kind) == [.initialPurchase])
        let later = Self.event(type) { $0.before = Self.status(.revoked, active: false) }
        let kinds = RevenueCatEvent.events(for: later, in: Self.context()).map(\.kind)
        #expect(!kinds.isEmpty && !kinds.contains(.initialPurchase))
    }

    @Test func `each kind of offer has its period type, and a free one has the price 0`() throws {
        let rows: [(Terms, Offer.Kind?, Int64?, String, RevenueCatValue)] = [
            (.full, nil, 9_990, "NORMAL", .number(9.99)), (.full, nil, 0, "NORMAL", .number(0)),
            (.full, nil, nil, "NORMAL", .null),
            (.trial, .introductory, 0, "TRIAL", .number(0)),
            (.trial, .code, 0, "TRIAL", .number(0)), (.trial, .winBack, nil, "TRIAL", .number(0)),
            (.offer, .introductory, 4_990, "INTRO", .number(4.99)),
            (.offer, .promotional, 1_990, "INTRO", .number(1.99)),
            (.offer, .code, nil, "INTRO", .null),
        ]
        for (terms, kind, price, periodType, amount) in rows {
            let payment = Payment(
                transaction: "1", product: "pro.month", from: Self.first,
                until: Self.first + .days(30), terms: terms,
                offer: kind.map { Offer($0, id: "spring") },
                price: price.map { Ledger.Money(milliunits: $0, currency: "EUR") })
            let context = Self.context(
                Timeline(
                    of: Self.purchase,
                    [Fact(about: Self.purchase, attestedAt: Self.first, .payment(payment))]))
            let event = Self.event(.purchased) { $0.transactionID = "1" }
            let rendered = try #require(RevenueCatEvent.events(for: event, in: context).first)
            let row = "\(terms) \(kind?.word ?? "-") \(price ?? -1)"
            #expect(rendered.value("period_type") == .string(periodType), "\(row)")
            #expect(rendered.value("price_in_purchased_currency") == amount, "\(row)")
            #expect(
                rendered.value("offer_code") == (kind == nil ? .null : .string("spring")),
                "\(row)")
        }
    }

    @Test(arguments: [Ledger.Ownership.familyShared, .assigned])
    func `a shared or assigned purchase has the price 0, and only the shared one is_family_share`(
        ownership: Ledger.Ownership
    ) throws {
        let shared = Payment(
            transaction: "1", product: "pro.month", from: Self.first,
            until: Self.first + .days(30), price: Ledger.Money(milliunits: 9_990, currency: "EUR"),
            ownership: ownership)
        let context = Self.context(
            Timeline(
                of: Self.purchase,
                [Fact(about: Self.purchase, attestedAt: Self.first, .payment(shared))]))
        let beginning: EventType = ownership == .assigned ? .seatAssigned : .familyShared
        for type in [beginning, .renewed, .renewalTurnedOff, .expired] {
            let event = Self.event(type) { $0.after = Self.status(.expired, active: false) }
            let rendered = try #require(RevenueCatEvent.events(for: event, in: context).first)
            let isFamily = RevenueCatValue.bool(ownership == .familyShared)
            #expect(rendered.value("is_family_share") == isFamily, "\(type.rawValue)")
            #expect(rendered.value("price_in_purchased_currency") == .number(0))
            #expect(rendered.value("price") == .number(0), "\(type.rawValue)")
        }
    }

    @Test func `a late event about an earlier period does not end access`() throws {
        let late = Self.event(.renewed) {
            ($0.transactionID, $0.before, $0.after) = ("1", Self.status(.paid), Self.status(.paid))
        }
        let rendered = try #require(RevenueCatEvent.events(for: late, in: Self.context()).first)
        #expect(
            rendered.value("expiration_at_ms") == .integer(Self.first.milliseconds + 60_000))
    }

    @Test func `a price is in dollars or null, and a refund is negative`() throws {
        func value(_ money: (String, String)?, _ type: EventType, _ key: String) throws
            -> RevenueCatValue?
        {
            let event = Self.event(type) {
                $0.money = money.map { PerennialContract.Money(amount: $0.0, currency: $0.1) }
                $0.transactionID = "3"
                ($0.before, $0.after) = (
                    Self.status(.paid), Self.status(.refunded, active: false)
                )
            }
            return RevenueCatEvent.events(for: event, in: Self.context()).first?.value(key)
        }
        #expect(try value(("9.99", "USD"), .renewed, "price") == .number(9.99))
        #expect(try value(("9.99", "EUR"), .renewed, "price") == .null)
        #expect(try value(("-9.99", "USD"), .refunded, "price") == .number(-9.99))
        // A later document may have added the price.
        #expect(try value(nil, .renewed, "price_in_purchased_currency") == .number(9.99))
        #expect(try value(nil, .refunded, "price_in_purchased_currency") == .null)
        #expect(try value(nil, .renewalTurnedOff, "price") == .number(0))
    }

    @Test func `with exchange rates each price is in dollars, at the rate of the purchase day`()
        throws
    {
        var context = Self.context()
        context.dollars = { money, moment in
            moment == Self.first && money.currency == "EUR" ? money.milliunits * 11 / 10 : nil
        }
        let event = Self.event(.renewed) {
            $0.money = PerennialContract.Money(amount: "9.99", currency: "EUR")
            $0.transactionID = "3"
        }
        let rendered = try #require(RevenueCatEvent.events(for: event, in: context).first)
        #expect(rendered.value("price") == .number(10.989))
        #expect(rendered.value("price_in_purchased_currency") == .number(9.99))
    }

    @Test
    func `docs/webhooks-revenuecat.md lists each of our types once, with its RevenueCat types`()
        throws
    {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/webhooks-revenuecat.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let table = lines.drop { $0 != "| ours | RevenueCat's |" }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
        let types = table.flatMap { line in
            line.split(separator: "|").first?.matches(of: /`(\w+)`/).map { String($0.1) } ?? []
        }
        #expect(types.sorted() == EventType.known.map(\.rawValue).sorted())
    }
}

extension RevenueCatEvent {
    func value(_ key: String) -> RevenueCatValue? {
        members.first { $0.key == key }?.value
    }
}
