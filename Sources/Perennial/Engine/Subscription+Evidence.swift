package import AccessRules
internal import PerennialContract

extension Perennial.Subscription {
    /// - Parameter details: what the App Store on this device says about the same period.
    init(
        _ subscription: PerennialContract.Subscription, _ details: StoreTransaction.Details
    ) {
        self.init(
            id: subscription.originalTransactionID,
            product: .init(rawValue: subscription.productID),
            state: .init(rawValue: subscription.state.rawValue),
            from: subscription.period.from.date, until: subscription.period.until?.date,
            willRenew: subscription.willRenew,
            renewsTo: subscription.renewsTo.map(Perennial.ProductID.init(rawValue:)),
            graceUntil: subscription.graceUntil?.date,
            commitment: subscription.commitment.map {
                Commitment(
                    month: $0.month, months: $0.months, until: $0.until?.date, renews: $0.renews)
            },
            offer: AppliedOffer(details),
            bundle: details.bundleProductID.map(Perennial.ProductID.init(rawValue:)),
            ownership: Ownership(rawValue: subscription.ownership.rawValue),
            seats: subscription.seats.map {
                Seats(count: $0.count, atRenewal: $0.atRenewal, members: $0.claimed)
            },
            seat: subscription.seat.map {
                Seat(id: $0.claimID, standing: .init(rawValue: $0.standing.rawValue))
            })
    }

    /// - Parameters:
    ///   - transaction: the transaction of the present period.
    ///   - seats: the number of seats of the period. Nil unless the customer bought seats.
    package init(_ transaction: StoreTransaction, _ status: StoreStatus?, seats: Int? = nil) {
        let state: Perennial.AccessState =
            switch status?.state {
            case .retry: .retry
            case .grace: .grace
            case .expired: .expired
            case .revoked: .revoked
            case .subscribed, nil: transaction.paidState
            }
        let details = transaction.details
        let news = status.flatMap { $0.isAbout(transaction) ? $0 : nil }
        let next = news?.willRenew == true ? news?.renewsTo : nil
        self.init(
            id: transaction.originalID, product: .init(rawValue: transaction.productID),
            state: state, from: transaction.purchasedAt.date, until: transaction.expiresAt?.date,
            willRenew: news?.willRenew, renewsTo: next.map(Perennial.ProductID.init(rawValue:)),
            graceUntil: status?.graceUntil?.date,
            commitment: details.commitment.map {
                Commitment(
                    month: $0.month, months: $0.months, until: $0.until?.date,
                    renews: Self.overStates.contains(state) ? false : news?.commitmentRenews)
            },
            offer: AppliedOffer(details),
            bundle: details.bundleProductID.map(Perennial.ProductID.init(rawValue:)),
            ownership: Ownership(transaction),
            seats: seats.map {
                Seats(
                    count: Self.overStates.contains(state) ? 0 : $0,
                    atRenewal: news?.seatsAtRenewal)
            })
    }

    /// The states of a subscription after which no period follows.
    private static let overStates: Set<Perennial.AccessState> = [.expired, .refunded, .revoked]
}

extension StoreTransaction {
    /// The state that the transaction alone proves. Used if the store has no status for the
    /// subscription, or if the status is `subscribed`.
    fileprivate var paidState: Perennial.AccessState {
        if revokedAt != nil { return isRevokedByFamily ? .revoked : .refunded }
        return switch offer {
        case .none: .paid
        case .trial: .trial
        case .other: .offer
        }
    }
}

extension Perennial.Subscription.Ownership {
    /// The ownership that the document names. The SDK's values, like the server's, are Apple's
    /// words in lower case.
    fileprivate init(_ transaction: StoreTransaction) {
        guard let ownership = transaction.details.ownership else {
            self = transaction.isFamilyShared ? .familyShared : .purchased
            return
        }
        self.init(rawValue: ownership.lowercased())
    }
}

extension Perennial.Subscription.AppliedOffer {
    /// The offer of the transaction. Nil if the transaction has no offer.
    fileprivate init?(_ details: StoreTransaction.Details) {
        guard let type = details.offerType else { return nil }
        let kind: Perennial.Offer.Kind =
            switch type {
            case 1: .introductory
            case 2: .promotional
            case 3: .code
            case 4: .winBack
            default: .init(rawValue: "\(type)")
            }
        self.init(
            id: details.offerID, kind: kind,
            paymentMode: details.paymentMode.map { .init(rawValue: $0.lowercased()) },
            period: details.offerPeriod.flatMap { Perennial.Period(iso8601: $0) })
    }
}

extension Perennial.Period {
    /// Parses a period with one unit, such as `P3M`. Returns nil for any other text.
    init?(iso8601 text: String) {
        guard text.first == "P", let unit = text.last.flatMap({ Self.units[$0] }),
            let value = Int(text.dropFirst().dropLast()), value > 0
        else { return nil }
        self.init(value, unit)
    }

    private static let units: [Character: Unit] = [
        "D": .day, "W": .week, "M": .month, "Y": .year,
    ]
}
