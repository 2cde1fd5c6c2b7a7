public import Foundation
public import Perennial
internal import PerennialContract

// MARK: - What happens without the app

extension ScriptedStore {
    /// The time that the clock shows.
    public var now: Date { state.withLock { $0.books.now.date } }

    /// Lets time pass: subscriptions renew or end.
    public func advance(seconds: TimeInterval) {
        change { $0.books.advance(by: Int64((max(0, seconds) * 1000).rounded())) }
    }

    /// Lets a number of days of 24 hours pass.
    public func advance(days: Int) { advance(seconds: TimeInterval(days) * 86_400) }

    /// A purchase arrives. It waited for approval, or was made elsewhere.
    public func delivers(_ product: Perennial.ProductID) { change { $0.books.deliver(product) } }

    /// A parent or a bank declines the purchase that waits.
    public func declines(_ product: Perennial.ProductID) {
        change { $0.books.waiting.removeAll { $0.product == product } }
    }

    /// The latest purchase of a product is refunded.
    public func refunds(_ product: Perennial.ProductID) { change { $0.books.refund(product) } }

    /// The customer switches the renewal off, in the App Store.
    public func cancels(_ product: Perennial.ProductID) {
        change { $0.books.setRenewal(of: product, false) }
    }

    /// The customer switches the renewal on again.
    public func resumes(_ product: Perennial.ProductID) {
        change { $0.books.setRenewal(of: product, true) }
    }

    /// The next renewal cannot be charged: access ends with the period, and the state is `retry`.
    public func failsToRenew(_ product: Perennial.ProductID) {
        change { $0.books.failRenewal(of: product) }
    }

    /// The developer grants an entitlement.
    ///
    /// - Parameter until: the grant's end. Nil if it has none.
    public func grants(_ entitlement: Perennial.EntitlementID, until: Date? = nil) {
        change { $0.books.grant(entitlement.rawValue, until: until.map { Timestamp($0) }) }
    }

    /// The developer withdraws a grant.
    public func revokes(_ entitlement: Perennial.EntitlementID) {
        change { $0.books.revoke(entitlement.rawValue) }
    }

    /// A wallet is credited or debited without the app, for example by the app's own server.
    public func credits(_ amount: Int, to wallet: Perennial.WalletID) {
        change { $0.books.credit(amount, to: wallet) }
    }

    /// The customer chooses a promoted product or a win-back offer in the App Store. It arrives in
    /// `Perennial.requests`.
    public func requests(_ product: Perennial.ProductID, offer: String? = nil) {
        state.withLock { state in
            let request = Perennial.PurchaseRequest(product: product, offerID: offer)
            if let reader = state.requestReader {
                reader.yield(request)
            } else {
                state.requests.append(request)
            }
        }
    }
}
