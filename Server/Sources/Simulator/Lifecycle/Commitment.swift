import AppStoreFormats

/// A commitment to twelve months that are paid monthly.
struct Commitment: Hashable, Sendable {
    /// The prices of a plan with a commitment, in thousandths of the currency unit.
    struct Terms: Hashable, Sendable {
        let monthlyPrice: Int64
        let totalPrice: Int64
    }

    /// The length of a commitment. Apple offers no other length.
    static let months = 12
    /// The number of days for which a failed payment is retried. Apple retries a commitment's month
    /// longer than other payments, without a grace period.
    static let retryDays = 90

    let terms: Terms
    var expires: AppStoreDate
    /// The number of the last paid month, from 1.
    var month: Int

    var isLastMonth: Bool { month >= Self.months }
}

extension Subscription {
    /// Whether the next month is part of the commitment, even if renewal is off.
    var isWithinCommitment: Bool { commitment.map { !$0.isLastMonth } ?? false }

    /// The product of the next charge.
    var upcomingProduct: Box<StoreKitProduct> {
        isWithinCommitment ? latest.boxedProduct : boxedNextProduct
    }
}
