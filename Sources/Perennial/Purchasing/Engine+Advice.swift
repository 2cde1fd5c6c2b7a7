internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Advice on a purchase

extension Engine {
    /// The outcome to report without showing the payment sheet, if the customer already has the
    /// product and wants no more seats. Nil if the sheet should be shown. Throws if the store
    /// account pays for another customer.
    ///
    /// - Parameter addsSeats: whether the customer wants more seats than the subscription has.
    func advisedAgainst(
        _ product: Perennial.ProductID, addsSeats: Bool
    ) throws(Perennial.Failure) -> Perennial.Purchase.Outcome? {
        switch advice(on: product).reason {
        case .alreadyHad?: return addsSeats ? nil : .alreadyHad
        case .storeAccountOfAnother?:
            throw Perennial.Failure(
                .storeAccountOfAnother,
                remedy: "The Apple account of this device pays for another customer. "
                    + "Let the person sign in as that customer, or buy `regardlessOfAdvice`.")
        default: return nil
        }
    }

    /// Advice on buying a product, based on the data on this device.
    func advice(on product: Perennial.ProductID) -> Perennial.Advice {
        let transactions = state.device.storeEvidence.transactions.values
        let own = transactions.filter { $0.productID == product.rawValue && $0.revokedAt == nil }
        if own.contains(where: { $0.kind == .nonConsumable && isTheirs($0.originalID) }) {
            return Perennial.Advice(product: product, buy: false, reason: .alreadyHad)
        }
        let now = now
        let running = own.filter { $0.isRunningSubscription(at: now) }
        if let held = running.first(where: { isTheirs($0.originalID) }),
            state.device.storeEvidence.statuses[held.originalID]?.willRenew != false
        {
            return Perennial.Advice(product: product, buy: false, reason: .alreadyHad)
        }
        if isPaidForAnother(product) {
            return Perennial.Advice(product: product, buy: false, reason: .storeAccountOfAnother)
        }
        if state.offerings?.overlap == "refuse", hasRunningTerm(like: product) {
            return Perennial.Advice(product: product, buy: false, reason: .termRuns)
        }
        return Perennial.Advice(product: product, buy: true)
    }

    /// The owner of a purchase, by the purchase's original transaction id. Nil if the server has
    /// not said.
    func verdict(on purchase: String) -> Verdict? {
        state.serverEvidence?.verdicts[purchase]
            ?? state.device.verdicts[purchase]?
            .verdict(for: state.person, salt: state.device.salt)
    }

    private func isTheirs(_ purchase: String) -> Bool { verdict(on: purchase) != .anotherPerson }

    /// Whether the store account has an active subscription of the product's group that belongs to
    /// another person. A new purchase would only continue that subscription.
    private func isPaidForAnother(_ product: Perennial.ProductID) -> Bool {
        let group = products[product.rawValue]?.group
        let now = now
        return state.device.storeEvidence.transactions.values.contains { transaction in
            transaction.isRunningSubscription(at: now)
                && (transaction.productID == product.rawValue
                    || group != nil && state.groups[transaction.originalID] == group)
                && verdict(on: transaction.originalID) == .anotherPerson
        }
    }

    private func hasRunningTerm(like product: Perennial.ProductID) -> Bool {
        guard let offerings = state.offerings,
            let chain = offerings.products.first(where: { $0.productID == product.rawValue })?
                .term?.chain
        else { return false }
        let chained = Set(offerings.products.filter { $0.term?.chain == chain }.map(\.productID))
        return publisher.snapshot.terms.contains {
            chained.contains($0.product.rawValue) && ($0.until.map { $0 > now.date } ?? false)
        }
    }
}
