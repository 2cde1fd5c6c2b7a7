import AppStoreFormats
import Engine
import Ledger
import Simulator

/// What one side says of one purchase, in words that both share.
package struct Holding: Hashable, Sendable, CustomStringConvertible {
    package var original: String
    package var product: String
    package var state: String
    package var isOpen: Bool
    package var willRenew: Bool
    /// Where the period ends that counts now; with grace, where that ends. Only where it is open.
    package var until: Int64?

    package var description: String {
        let end = until.map { "\(Instant(milliseconds: $0))" } ?? "-"
        let renewal = willRenew ? "renews" : "does not renew"
        return "\(original) \(product): \(state), \(renewal), until \(end)"
    }

    /// The books call every free period a trial, we only an introductory one.
    private static let reduced = Access.State.offer.rawValue

    /// From the simulator's books.
    package init(_ booked: BookedPurchase) {
        original = booked.originalTransactionID
        product = booked.productID
        isOpen = booked.isOpen
        willRenew = booked.willRenew
        let end = booked.graceUntil ?? booked.period?.upperBound
        until = booked.isOpen ? end?.milliseconds : nil
        let isShared = booked.ownership == .familyShared
        switch booked.state {
        case .refunded: state = isShared ? "revoked" : "refunded"
        case .paid where booked.renewsTo == nil: state = "owned"
        case .trial: state = Self.reduced
        case let other: state = other.rawValue
        }
    }

    /// From the server's answer about a customer; nil where nothing is known of a purchase.
    package init?(_ purchase: PurchaseState, at now: Instant) {
        let timeline = purchase.timeline
        guard let period = timeline.period(at: now) ?? timeline.periods.last else { return nil }
        original = timeline.purchase.original.rawValue
        product = period.product.rawValue
        if let access = purchase.access {
            state = access.state == .trial ? Self.reduced : access.state.rawValue
            isOpen = access.isOpen
            willRenew = access.willRenew ?? false
            until = (access.state == .grace ? access.until : period.end)?.milliseconds
        } else {
            isOpen = period.payment.revocation == nil
            state = isOpen ? "owned" : "refunded"
            willRenew = false
        }
        if !isOpen { until = nil }
    }
}
