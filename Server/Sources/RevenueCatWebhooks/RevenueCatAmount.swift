import Ledger
import PerennialContract

/// What an event says about money, in RevenueCat's members.
///
/// `price` is in US dollars. No document of Apple's has exchange rates, so it is null for every
/// other currency: never the local amount under this name. Zero is zero in every currency.
struct RevenueCatAmount {
    /// Nil for grants, and if Apple has not said a price.
    let currency: String?
    /// Nil if it is not known.
    private let amount: String?

    /// - Parameters:
    ///   - kind: of several webhooks of one event only one says the money.
    ///   - payment: the payment that the event is about.
    init(_ event: PerennialContract.Event, of kind: RevenueCatKind, payment: Payment?) {
        guard event.grant == nil else {
            (currency, amount) = (nil, nil)
            return
        }
        currency = event.money?.currency ?? payment?.price?.currency
        let paidKinds: Set<EventType> = [
            .purchased, .trialConverted, .renewed, .billingRecovered, .resubscribed, .upgraded,
            .productChanged, .refunded, .refundReversed,
        ]
        if kind.isBesideAnother {
            amount = "0"
        } else if let money = event.money {
            amount = money.amount
        } else if payment?.terms == .trial || event.ownership == .familyShared {
            amount = "0"
        } else {
            // An event that moves money without saying how much says nothing.
            amount = paidKinds.contains(event.type) ? nil : "0"
        }
    }

    var inCurrency: RevenueCatValue { amount.flatMap(Double.init).map { .number($0) } ?? .null }

    var inDollars: RevenueCatValue {
        guard let amount, let value = Double(amount) else { return .null }
        return value == 0 || currency == "USD" ? .number(value) : .null
    }
}
