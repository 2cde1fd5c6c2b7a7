import AppStoreFormats
import Ledger

/// The seats in a transaction. The transaction's price is the rounded average of one seat; the
/// amount paid is the sum over the price tiers.
///
/// Do not use this type for a member of a group, because a member's transaction repeats the
/// purchaser's numbers.
struct SeatPurchase {
    let seats: Seats
    /// The cost of all seats together, in thousandths of the currency's unit. Nil if no price is
    /// known.
    let total: Int64?
    private let count: Int
    private let average: Int64?
    private let percentage: Int64?

    /// The maximum number of tiers. Apple allows five.
    static let tiersMax = 16
    /// The maximum total, in thousandths of the currency's unit. A higher total is counted as this
    /// amount, so that sums do not overflow.
    static let totalMax: Int64 = 1_000_000_000_000_000

    /// Reads the seats of a transaction. Returns nil for a purchase without seats.
    init?(_ transaction: TransactionPayload) {
        let quantity = Intake.quantity(of: transaction)
        let isPart = transaction.additionalTransactionReason == .seatAddition
        let isOfOthers = [.assigned, .familyShared].contains(transaction.inAppOwnershipType)
        guard transaction.type == .autoRenewable,
            isPart || !isOfOthers && (quantity > 1 || transaction.multiSeatInfo != nil)
        else { return nil }
        let told = isOfOthers ? nil : transaction.multiSeatInfo
        let tiers = Self.tiers(told?.priceTiers, of: quantity) ?? []
        let refunded = told?.revokedSeatQuantity.flatMap { Int(exactly: $0) } ?? 0
        seats = Seats(
            tiers: tiers, refunded: min(max(0, refunded), quantity), isPart: isPart,
            invitations: told?.invitationManagement.map(Self.invitations))
        count = quantity
        average = transaction.price
        total = Self.total(tiers, isOfOthers ? 1 : quantity, average: transaction.price)
        percentage = transaction.revocationPercentage
    }

    /// The amount paid, without refunds of single seats.
    ///
    /// - Parameter isRevoked: whether the whole transaction is revoked. If so, its revocation says
    ///   how much of the price of the remaining seats was refunded. If no seat had been refunded
    ///   before, these are all seats.
    func price(isRevoked: Bool) -> Int64? {
        guard let total, seats.refunded > 0, !isRevoked || seats.refunded < count else {
            return total
        }
        return max(0, total - min(total, refund(of: total, isRevoked ? nil : percentage)))
    }

    /// The part of the total that was refunded. The App Store reports the refunded seats without an
    /// amount. If it reports no share either, the cheapest seats count as refunded.
    private func refund(of total: Int64, _ percentage: Int64?) -> Int64 {
        if let percentage { return Percentage.part(percentage, of: total) }
        guard !seats.tiers.isEmpty else {
            return (average ?? 0).multipliedSaturating(by: Int64(seats.refunded))
        }
        var left = seats.refunded
        return seats.tiers.reduce(Int64(0)) { sum, tier in
            let count = min(left, tier.count)
            left -= count
            return sum.addedSaturating(to: tier.price.multipliedSaturating(by: Int64(count)))
        }
    }

    /// The planned number of seats of the next period. Nil if the App Store does not report it, or
    /// reports an invalid number.
    static func renewalSeats(of renewal: RenewalPayload) -> Int? {
        guard let told = renewal.renewalQuantity, (1...Intake.quantityMax) ~= told else {
            return nil
        }
        return Int(told)
    }

    /// The total price of the seats in the next period.
    static func renewalPrice(of renewal: RenewalPayload) -> Int64? {
        guard let quantity = renewalSeats(of: renewal), quantity > 1 else {
            return renewal.renewalPrice
        }
        let tiers = tiers(renewal.multiSeatInfo?.renewalPriceTiers, of: quantity) ?? []
        return total(tiers, quantity, average: renewal.renewalPrice)
    }

    private static func total(
        _ tiers: [Seats.Tier], _ quantity: Int, average: Int64?
    ) -> Int64? {
        guard !tiers.isEmpty else {
            guard let average, average >= 0 else { return nil }
            return min(totalMax, average.multipliedSaturating(by: Int64(quantity)))
        }
        return min(
            totalMax,
            tiers.reduce(Int64(0)) {
                $0.addedSaturating(to: $1.price.multipliedSaturating(by: Int64($1.count)))
            })
    }

    /// The tiers in our form. Returns nil if the tiers are invalid, or do not add up to the
    /// quantity.
    private static func tiers(_ told: [SeatPriceTier]?, of quantity: Int) -> [Seats.Tier]? {
        guard let told, (1...tiersMax).contains(told.count) else { return nil }
        var tiers: [Seats.Tier] = []
        var left = quantity
        for tier in told {
            guard let price = tier.price, price >= 0,
                let count = tier.quantity.flatMap({ Int(exactly: $0) }), count > 0, count <= left
            else { return nil }
            left -= count
            tiers.append(Seats.Tier(price: price, count: count))
        }
        return left == 0 ? tiers : nil
    }

    private static func invitations(_ told: InvitationManagement) -> Seats.Invitations {
        switch told {
        case .apple: .apple
        case .developer: .developer
        default: .other
        }
    }
}

extension Int64 {
    fileprivate func addedSaturating(to other: Int64) -> Int64 {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }

    /// Multiplies two numbers that are not negative, without overflow.
    fileprivate func multipliedSaturating(by other: Int64) -> Int64 {
        let (product, isTooMuch) = multipliedReportingOverflow(by: other)
        return isTooMuch ? .max : product
    }
}
