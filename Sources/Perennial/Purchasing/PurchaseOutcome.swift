/// The result of a purchase, for every caller that waited for the purchase.
typealias PurchaseOutcome = Result<Perennial.Purchase, Perennial.Failure>
