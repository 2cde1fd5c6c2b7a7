internal import AccessRules
internal import PerennialContract

/// What the engine knew when the payment sheet was shown.
struct PaymentSheet: Sendable {
    var product: Perennial.ProductID
    var buyer: Engine.Buyer
    var placement: Perennial.PlacementID?
    /// The ids of the transactions that existed before the sheet was shown.
    var known: Set<String>
    var shownAt: Timestamp

    /// The outcome of the purchase, found by comparing the requested product with the store's
    /// result.
    ///
    /// - Parameter verdict: the owner of the purchase. Nil if the server has not said.
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
