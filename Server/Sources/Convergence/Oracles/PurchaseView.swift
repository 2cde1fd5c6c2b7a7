import AppStoreFormats
import Engine
import Ledger
import Simulator

/// One purchase as the simulator or the server sees it, in terms that they share.
package struct PurchaseView: Hashable, Sendable, CustomStringConvertible {
    package var original: String
    package var product: String
    package var state: String
    package var isOpen: Bool
    package var willRenew: Bool
    /// The end of the current period, or of its grace period. Nil if the purchase is not open.
    package var until: Int64?

    package var description: String {
        let end = until.map { "\(Instant(milliseconds: $0))" } ?? "-"
        let renewal = willRenew ? "renews" : "does not renew"
        return "\(original) \(product): \(state), \(renewal), until \(end)"
    }

    /// The ground truth calls every free period a trial. The server calls a free period a trial
    /// only if it is an introductory offer.
    private static let reduced = Access.State.offer.rawValue

    /// The view of the simulator's ground truth.
    package init(_ booked: TruePurchase) {
        original = booked.originalTransactionID
        product = booked.productID
        isOpen = booked.isOpen
        willRenew = booked.willRenew
        let end = booked.graceUntil ?? booked.period?.upperBound
        until = booked.isOpen ? end?.milliseconds : nil
        let isShared = booked.ownership != .purchased
        switch booked.state {
        case .refunded: state = isShared ? "revoked" : "refunded"
        case .paid where booked.renewsTo == nil: state = "owned"
        case .trial: state = Self.reduced
        case let other: state = other.rawValue
        }
    }

    /// The view of the server's answer about a customer. Returns nil if the answer says nothing
    /// about the purchase.
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
