public import Foundation
public import Perennial
internal import PerennialContract

// MARK: - Events outside the app

extension ScriptedStore {
    /// The time that the store's clock shows.
    public var now: Date { state.withLock { $0.books.now.date } }

    /// Moves the clock: subscriptions renew or end.
    public func advance(seconds: TimeInterval) {
        change { $0.books.advance(by: Int64((max(0, seconds) * 1000).rounded())) }
    }

    /// Moves the clock by a number of days of 24 hours.
    public func advance(days: Int) { advance(seconds: TimeInterval(days) * 86_400) }

    /// Delivers a purchase that waited for approval, or that was made on another device.
    public func delivers(_ product: Perennial.ProductID) { change { $0.books.deliver(product) } }

    /// Declines the waiting purchase of a product, as a parent or a bank does.
    public func declines(_ product: Perennial.ProductID) {
        change { $0.books.waiting.removeAll { $0.product == product } }
    }

    /// Refunds the latest purchase of a product.
    public func refunds(_ product: Perennial.ProductID) { change { $0.books.refund(product) } }

    /// Switches the renewal of a product off, as the customer does in the App Store.
    public func cancels(_ product: Perennial.ProductID) {
        change { $0.books.setRenewal(of: product, false) }
    }

    /// Switches the renewal of a product on again, as the customer does in the App Store.
    public func resumes(_ product: Perennial.ProductID) {
        change { $0.books.setRenewal(of: product, true) }
    }

    /// Makes the next renewal fail: access ends with the period, and the state is `retry`.
    public func failsToRenew(_ product: Perennial.ProductID) {
        change { $0.books.failRenewal(of: product) }
    }

    /// Grants an entitlement, as the developer does.
    ///
    /// - Parameter until: when the grant ends. Nil if the grant has no end.
    public func grants(_ entitlement: Perennial.EntitlementID, until: Date? = nil) {
        change { $0.books.grant(entitlement.rawValue, until: until.map { Timestamp($0) }) }
    }

    /// Withdraws a grant, as the developer does.
    public func revokes(_ entitlement: Perennial.EntitlementID) {
        change { $0.books.revoke(entitlement.rawValue) }
    }

    /// Changes the balance of a wallet without the app, as the app's server can do. A negative
    /// amount is a debit.
    public func credits(_ amount: Int, to wallet: Perennial.WalletID) {
        change { $0.books.credit(amount, to: wallet) }
    }

    /// Chooses a promoted product or a win-back offer, as the customer does in the App Store. The
    /// request arrives in `Perennial.requests`.
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
