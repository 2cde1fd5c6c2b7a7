import Ledger
import PerennialContract

/// `cancel_reason` and `expiration_reason`.
package enum RevenueCatReason: String, Hashable, Sendable {
    case unsubscribe = "UNSUBSCRIBE"
    case billingError = "BILLING_ERROR"
    case developerInitiated = "DEVELOPER_INITIATED"
    case priceIncrease = "PRICE_INCREASE"
    case customerSupport = "CUSTOMER_SUPPORT"
    case unknown = "UNKNOWN"

    /// Why renewal was switched off: by the customer, or because of a higher price.
    init(ofRefusalIn context: RevenueCatContext) {
        let ending = context.timeline?.renewal?.value.ending
        self = ending == .priceNotAgreed ? .priceIncrease : .unsubscribe
    }

    /// Why a subscription expired. Unknown if the event does not say why.
    init(_ why: String?) {
        self =
            switch why.flatMap(Change.ExpirationReason.init(rawValue:)) {
            case .cancelled: .unsubscribe
            case .billing: .billingError
            case .priceNotAgreed: .priceIncrease
            case .productUnavailable: .developerInitiated
            case .other, .neverConfirmed, nil: .unknown
            }
    }
}
