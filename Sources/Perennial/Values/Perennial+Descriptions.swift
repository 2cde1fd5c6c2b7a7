// The description of each of these values is its raw value: `"\(purchase.outcome)"` is `bought`.

extension Perennial.AccessState: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Advice.Reason: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.AttributeName: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Basis: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.EntitlementID: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Failure.Charged: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Failure.Code: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Intent: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Offer.Kind: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Offer.PaymentMode: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Offer.Reason: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Period.Unit: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.PlacementID: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Plan.Kind: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Product.Kind: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.ProductID: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Purchase.Outcome: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Restoration.Outcome: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.RestorePreview.Effect: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Role: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.SeatHost: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.SeatStanding: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.PaywallContent.Action: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.PaywallContent.Headline.Kind: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.StoreEnvironment: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.Subscription.Ownership: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.WaitingPurchase.Reason: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.WalletID: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Perennial.LogHandler.Level: CustomStringConvertible {
    private static let names = ["debug", "info", "notice", "error"]

    public var description: String {
        Self.names.indices.contains(rawValue) ? Self.names[rawValue] : "level \(rawValue)"
    }
}
