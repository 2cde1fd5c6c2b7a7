/// The result of a purchase, for every caller that has waited for it.
typealias PurchaseOutcome = Result<Perennial.Purchase, Perennial.Failure>
