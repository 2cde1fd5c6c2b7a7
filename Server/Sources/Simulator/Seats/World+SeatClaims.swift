import AppStoreFormats

// Seats that an app's server claims for people whom the app has invited.

extension World {
    /// Maximum number of claims of one group, including ended ones.
    static let claimsMax = 100_000

    /// The number of claims that a group can have now.
    func claimableSeats(of chain: Subscription, at now: AppStoreDate) -> Int64 {
        let own: Int64 = settings.has(.purchaserUsesASeat) ? 1 : 0
        return max(0, chain.seats(at: now) - own)
    }

    /// The running subscription of a group whose members the app invites.
    func claimedChain(
        _ id: String, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(APIError) -> Subscription {
        let transaction = try transaction(id, in: environment)
        guard transaction.originalID == transaction.id else { throw .transactionIDNotFound }
        guard let chain = subscriptions[id], chain.sharedBy == nil, chain.isOpen(at: now),
            chain.group?.invitations == .developer
        else { throw .transactionNotDeveloperGroup }
        return chain
    }

    /// Claims a seat. A repeated request gets the same claim.
    mutating func claimSeat(
        _ requestID: String, for appTransactionID: String?, of id: String,
        in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(APIError) -> SeatClaim {
        var chain = try claimedChain(id, in: environment, at: now)
        let claims = chain.group?.claims ?? []
        if let known = claims.first(where: { $0.requestID == requestID }) { return known }
        try checkAppTransaction(appTransactionID, in: environment)
        let open = Int64(chain.group?.openClaims.count ?? 0)
        guard open < claimableSeats(of: chain, at: now), claims.count < Self.claimsMax else {
            throw .noAvailableSeats
        }
        let claim = SeatClaim(
            id: numbers.newUUID().lowercased(), requestID: requestID,
            appTransactionID: appTransactionID,
            at: now)
        if claims.isEmpty { chainsWithClaims.insert(id) }
        chain.group?.claims.append(claim)
        save(chain)
        return claim
    }

    mutating func unclaimSeat(
        _ claimID: String, of id: String, in environment: SimulatedEnvironment,
        at now: AppStoreDate
    ) throws(APIError) {
        var chain = try claimedChain(id, in: environment, at: now)
        guard chain.group?.openClaims.contains(where: { $0.id == claimID }) == true else {
            throw .seatClaimIDNotFound
        }
        closeClaims([claimID], of: &chain, at: now)
        save(chain)
    }

    mutating func associateSeat(
        _ claimID: String, with appTransactionID: String, of id: String,
        in environment: SimulatedEnvironment, at now: AppStoreDate
    ) throws(APIError) {
        var chain = try claimedChain(id, in: environment, at: now)
        let place = chain.group?.claims.firstIndex { $0.id == claimID && $0.ended == nil }
        guard let place else { throw .seatClaimIDNotFound }
        try checkAppTransaction(appTransactionID, in: environment)
        chain.group?.claims[place].appTransactionID = appTransactionID
        save(chain)
    }

    func closeClaims(
        _ ids: [String], of chain: inout Subscription, at now: AppStoreDate
    ) {
        guard var group = chain.group else { return }
        for place in group.claims.indices where ids.contains(group.claims[place].id) {
            group.claims[place].ended = now
        }
        chain.group = group
    }

    private func checkAppTransaction(
        _ id: String?, in environment: SimulatedEnvironment
    ) throws(APIError) {
        guard let id else { return }
        let isKnown = accounts.values.contains {
            $0.appTransactionID == id && $0.key.environment == environment
        }
        guard isKnown else { throw .appTransactionIDNotFound }
    }
}
