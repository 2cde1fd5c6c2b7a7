import AppStoreFormats

/// Twelve months that are promised and paid month by month.
struct Commitment: Hashable, Sendable {
    /// What such a plan costs. Thousandths of the currency unit.
    struct Terms: Hashable, Sendable {
        let monthlyPrice: Int64
        let totalPrice: Int64
    }

    /// Apple has no other length.
    static let months = 12
    /// Apple tries a refused month longer than other payments, without grace.
    static let retryDays = 90

    let terms: Terms
    var expires: AppStoreDate
    /// The month that is paid last, from 1.
    var month: Int

    var isLastMonth: Bool { month >= Self.months }
}

extension Subscription {
    /// Whether the next month is part of the commitment, wanted or not.
    var isWithinCommitment: Bool { commitment.map { !$0.isLastMonth } ?? false }

    /// The product of the next charge.
    var upcomingProduct: Shared<StoreKitProduct> {
        isWithinCommitment ? latest.sharedProduct : sharedNextProduct
    }
}
