internal import AccessRules
internal import PerennialContract

/// What was so when the payment sheet was shown.
struct PaymentSheet: Sendable {
    var product: Perennial.ProductID
    var buyer: Engine.Buyer
    var placement: Perennial.PlacementID?
    /// The transactions that were there already.
    var known: Set<String>
    var shownAt: Timestamp

    /// Compares what was asked for with what the store returned.
    ///
    /// - Parameter verdict: whose the purchase is. Nil if the server has not said.
    func outcome(
        of payload: TransactionPayload, _ verdict: Verdict?
    ) throws(Perennial.Failure) -> Perennial.Purchase.Outcome {
        if verdict == .anotherPerson { return .belongsToAnother }
        if payload.productId != product.rawValue {
            if payload.kind == .renewing { return .planChangeScheduled }
            throw Perennial.Failure(
                .purchaseReturnedAnother,
                remedy: "The store returned a transaction of another product.",
                charged: .unclear)
        }
        let isOver = payload.expiresDate.map { $0 <= shownAt.milliseconds } ?? false
        if isOver {
            throw Perennial.Failure(
                .purchaseReturnedAnother,
                remedy: "The store returned a transaction that has ended.", charged: .unclear)
        }
        return known.contains(payload.transactionId) ? .alreadyHad : .bought
    }
}
