import AppStoreFormats

/// The seats of one transaction. A transaction of an ordinary subscription has no such value.
struct SeatsBought: Hashable, Sendable {
    /// A refund of single seats.
    struct Refund: Hashable, Sendable {
        let at: AppStoreDate
        let count: Int64
        /// The refunded amount, in thousandths of the currency's unit.
        let amount: Int64
        /// The refunded share of the whole transaction. Nil if Apple names none.
        let percentage: Int64?
        var reversed: AppStoreDate?
    }

    /// The id of the first transaction of the period.
    let period: String
    let invitations: SeatInvitations
    let tiers: [SeatTier]
    /// Whether the period has several transactions.
    var isPart = false
    /// The refunds of single seats, oldest first.
    var refunds: [Refund] = []

    private var counted: [Refund] { refunds.filter { $0.reversed == nil } }

    var count: Int64 { tiers.count }
    var revoked: Int64 { counted.reduce(0) { $0 + $1.count } }
    var left: Int64 { count - revoked }
    /// The seats that are left. A refund removes the cheapest seats.
    var tiersLeft: [SeatTier] { tiers.dropping(cheapest: revoked) }
    var refunded: Int64 { counted.reduce(0) { $0 + $1.amount } }
    var lastRefund: AppStoreDate? { counted.last?.at }

    /// The share of the transaction that was refunded. Nil if Apple names none.
    var percentage: Int64? {
        let named = counted.compactMap(\.percentage)
        return named.isEmpty ? nil : named.reduce(0, +)
    }

    /// Reverses the last refund of seats. Returns the number of seats of that refund.
    mutating func reverseRefund(at now: AppStoreDate) -> Int64 {
        guard let place = refunds.lastIndex(where: { $0.reversed == nil }) else { return 0 }
        refunds[place].reversed = now
        return refunds[place].count
    }
}

/// The group that uses the seats of a subscription. A new purchase after the end begins a new
/// group.
struct SeatGroup: Sendable {
    /// Apple's id of the group, by which its members are listed.
    let id: String
    let invitations: SeatInvitations
    /// Whether an organization pays. An organization's transactions reach no app.
    var isOrganization = false
    /// The claims of the app's server, oldest first. Empty if Apple invites.
    var claims: [SeatClaim] = []

    var openClaims: [SeatClaim] { claims.filter { $0.ended == nil } }
}

/// A seat that the app's server has claimed for somebody.
struct SeatClaim: Hashable, Sendable {
    let id: String
    /// The id that the server has given to its request. A repeated request gets the same claim.
    let requestID: String
    var appTransactionID: String?
    let at: AppStoreDate
    var ended: AppStoreDate?
}

extension StoreTransaction {
    var seats: SeatsBought? {
        get { boxedSeats?.value }
        set { boxedSeats = newValue.map { Box($0) } }
    }

    /// The number of seats that are paid for and not refunded. 1 for an ordinary subscription.
    var seatsLeft: Int64 {
        guard revocation == nil, !isUpgraded else { return 0 }
        return seats?.left ?? 1
    }

    /// The `price` in Apple's documents.
    var shownPrice: Int64 { seats.map(\.tiers.average) ?? price }

    /// Whether the transaction is the only or the first one of its period.
    var beginsPeriod: Bool { seats.map { $0.period == id } ?? true }

    /// Whether two transactions are parts of one period.
    func isPart(ofPeriodOf other: Self) -> Bool {
        id == other.id || seats.map { $0.period == other.seats?.period } ?? false
    }

    func write(_ seats: SeatsBought, into payload: inout TransactionPayload) {
        let isOwn = ownership == .purchased
        var info = TransactionSeats()
        info.invitationManagement = seats.invitations.word
        info.priceTiers = seats.tiers.map(\.wire)
        if isOwn, seats.revoked > 0 {
            info.revokedSeatQuantity = seats.revoked
            // If the whole transaction was refunded, too, for example by an upgrade, the document
            // need not contain the share of the seats.
            if payload.revocationDate == nil { payload.revocationPercentage = seats.percentage }
        }
        payload.multiSeatInfo = info
        payload.additionalTransactionReason = isOwn && seats.isPart ? .seatAddition : nil
    }
}

extension SeatTier {
    var wire: SeatPriceTier {
        var tier = SeatPriceTier()
        (tier.price, tier.quantity) = (price, count)
        return tier
    }
}

extension Subscription {
    /// The transactions of the period in force, or of the latest period if none is in force.
    func parts(at now: AppStoreDate) -> [StoreTransaction] {
        let shown = transactions.last { $0.covers(now) } ?? latest
        return transactions.filter { $0.isPart(ofPeriodOf: shown) }
    }

    /// The number of seats that are paid for now. 1 for an ordinary subscription.
    func seats(at now: AppStoreDate) -> Int64 { parts(at: now).reduce(0) { $0 + $1.seatsLeft } }

    /// Whether another part of the transaction's period is neither refunded nor replaced.
    func hasPart(besides index: Int) -> Bool {
        let transaction = transactions[index]
        return transactions.contains {
            $0.id != transaction.id && $0.isPart(ofPeriodOf: transaction) && $0.seatsLeft > 0
        }
    }

    /// The price of the next period by tiers. Nil if the period has one seat.
    func nextTiers(_ prices: SeatPrices) -> [SeatTier]? {
        let product = boxedNextProduct.value
        guard plannedSeats > 1, prices.sells(product.id) else { return nil }
        guard nextOffer == nil else { return [SeatTier(price: nextPrice, count: plannedSeats)] }
        return prices.tiers(
            of: product.id, seats: 1..<plannedSeats + 1, at: nextPrice,
            in: latest.storefront.country)
    }

    /// The whole price of the next period, in thousandths of the currency's unit.
    func nextTotal(_ prices: SeatPrices) -> Int64 { nextTiers(prices)?.total ?? nextPrice }

    func writeSeats(into payload: inout RenewalPayload, _ settings: SimulatorSettings) {
        guard group != nil, latest.seats != nil || plannedSeats > 1 else { return }
        payload.renewalQuantity = plannedSeats
        guard let tiers = nextTiers(settings.rules.seats) else { return }
        payload.renewalPrice = tiers.average
        var info = RenewalSeats()
        info.renewalPriceTiers = tiers.map(\.wire)
        payload.multiSeatInfo = info
    }
}
