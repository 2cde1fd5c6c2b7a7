import Ledger
import PerennialContract

/// The money of an event, in RevenueCat's members.
///
/// A price that the App Store signed as 0 is 0; a price is null only if no document gives it.
/// `price` is in US dollars, at the configured rates; it never contains the local amount. Zero
/// needs no rate.
struct RevenueCatAmount {
    /// Nil for grants, and if Apple has not given a price.
    let currency: String?
    /// The amount, in thousandths of the currency's unit. Nil if it is not known.
    private let amount: Int64?
    private let dollars: Int64?

    /// - Parameters:
    ///   - kind: the type of the webhook. If one event has several webhooks, only one of them
    ///     contains the money.
    init(_ event: PerennialContract.Event, of kind: RevenueCatKind, in context: RevenueCatContext) {
        guard event.grant == nil else {
            (currency, amount, dollars) = (nil, nil, nil)
            return
        }
        let payment = context.payment(of: event)
        let found = event.money?.currency ?? payment?.price?.currency
        currency = found
        amount = Self.amount(event, of: kind, payment)
        dollars = amount.flatMap { amount in
            guard amount != 0, found != "USD" else { return amount }
            guard let found else { return nil }
            let at = payment?.from ?? Instant(milliseconds: event.at.milliseconds)
            return context.dollars(Ledger.Money(milliunits: amount, currency: found), at)
        }
    }

    private static func amount(
        _ event: PerennialContract.Event, of kind: RevenueCatKind, _ payment: Payment?
    ) -> Int64? {
        if kind.isBesideAnother || !movesMoney(event) { return 0 }
        if let money = event.money { return milliunits(of: money.amount) }
        if event.ownership.map({ $0 != .purchased }) ?? false || payment?.costsNothing == true {
            return 0
        }
        // The event contains no price, but a later document may have reported the price. The amount
        // that a refund returned stays unknown.
        return event.type == .refunded || event.type == .refundReversed
            ? nil : payment?.charge?.milliunits
    }

    private static func movesMoney(_ event: PerennialContract.Event) -> Bool {
        let types: Set<EventType> = [
            .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered, .resubscribed,
            .upgraded, .productChanged, .familyShared, .seatAssigned, .seatsAdded, .refunded,
            .refundReversed,
        ]
        return types.contains(event.type)
    }

    /// Thousandths of an amount such as `-9.99` or `0.001`. Nil if the text is not such an amount.
    private static func milliunits(of text: String) -> Int64? {
        let isNegative = text.hasPrefix("-")
        let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let units = Int64(parts[0]) else { return nil }
        let fraction = parts.count == 2 ? String(parts[1]) : ""
        guard fraction.count <= 3,
            let rest = Int64(fraction + String(repeating: "0", count: 3 - fraction.count))
        else { return nil }
        let (whole, isTooLarge) = units.multipliedReportingOverflow(by: 1000)
        return isTooLarge ? nil : (isNegative ? -1 : 1) * (whole + rest)
    }

    var inCurrency: RevenueCatValue { Self.value(of: amount) }

    var inDollars: RevenueCatValue { Self.value(of: dollars) }

    private static func value(of milliunits: Int64?) -> RevenueCatValue {
        milliunits.map { .number(Double($0) / 1000) } ?? .null
    }
}
