/// What a purchase came to, for every caller that waited for it.
typealias PurchaseOutcome = Result<Perennial.Purchase, Perennial.Failure>
