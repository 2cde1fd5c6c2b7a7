/// A member's seat, by which the member may use somebody else's purchase.
package struct MemberSeat: Hashable, Sendable {
    package var claim: SeatClaimID
    package var standing: SeatClaim.Standing
    package var since: Instant
    /// The purchase that pays for the seat. The member must not see its number.
    package var purchase: PurchaseID

    package init(
        claim: SeatClaimID, standing: SeatClaim.Standing, since: Instant, purchase: PurchaseID
    ) {
        self.claim = claim
        self.standing = standing
        self.since = since
        self.purchase = purchase
    }
}

extension Timeline {
    /// The subscription as a member of its group sees it. The claim's id replaces the numbers of
    /// the purchase and of its transactions. Prices, seats and the account token are left out.
    package func seen(from seat: MemberSeat) -> Timeline {
        var view = self
        view.seat = seat
        view.purchase = PurchaseID(
            TransactionID(rawValue: seat.claim.rawValue), in: purchase.environment)
        for index in periods.indices {
            view.periods[index].payment = periods[index].payment.asSeen(
                from: TransactionID(rawValue: "\(seat.claim)-\(index + 1)"))
        }
        view.renewal?.value.price = nil
        view.renewal?.value.seats = nil
        view.renewal?.value.offer = nil
        return view
    }

    /// The timeline with only the periods that a member has had since the claim began. While the
    /// claim waits for a seat, the timeline has no periods. This timeline decides which
    /// publications came out while the member had access. Only the whole timeline says whether the
    /// member has access.
    package var sinceSeat: Timeline {
        guard let seat else { return self }
        var view = self
        view.periods = periods.filter { period in
            seat.standing == .held && (period.openUntil.map { $0 > seat.since } ?? true)
        }
        for index in view.periods.indices where view.periods[index].from < seat.since {
            view.periods[index].payment.from = seat.since
        }
        return view
    }

    /// The purchase whose documents describe this timeline: for a member of a group, the
    /// purchaser's purchase.
    package var payingPurchase: PurchaseID { seat?.purchase ?? purchase }
}

extension Payment {
    fileprivate func asSeen(from transaction: TransactionID) -> Payment {
        var view = self
        view.transaction = transaction
        view.line = nil
        view.price = nil
        view.commitment?.price = nil
        view.quantity = 1
        view.seats = nil
        view.ownership = .assigned
        view.accountToken = nil
        view.storefront = nil
        return view
    }
}

extension Access {
    /// The access of a member for whom there is no seat.
    var withoutSeat: Access {
        guard isOpen else { return self }
        var access = self
        (access.state, access.reason) = (.revoked, .seatsTaken)
        (access.until, access.alternative) = (nil, nil)
        return access
    }
}
