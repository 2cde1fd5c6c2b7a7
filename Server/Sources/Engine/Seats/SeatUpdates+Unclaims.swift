import Ledger
import Storage

extension SeatUpdates {
    /// Records and applies the notifications about ended claims among new documents.
    func recordUnclaims(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        for each in attested {
            guard let unclaim = each.seatUnclaim else { continue }
            try record(
                unclaim, from: each.document.id, in: each.document.app,
                at: each.document.receivedAt)
        }
    }

    /// Records the ids that a notification names, and ends the claims with these ids. Idempotent.
    /// Returns whether any id was not recorded before.
    @discardableResult
    func record(
        _ unclaim: SeatUnclaim, from document: [UInt8], in app: AppID, at now: Instant
    ) throws(StorageFailure) -> Bool {
        let isNew = try tx.seatUnclaims.insert(unclaim, from: document, in: app)
        if isNew { try applyUnclaim(document, in: app, at: now) }
        return isNew
    }

    /// Applies the notifications that named a claim's id before the claim was known here.
    func applyUnclaims(
        naming id: StoreSeatID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for document in try tx.seatUnclaims.documents(naming: id, in: app) {
            try applyUnclaim(document, in: app, at: now)
        }
    }

    /// Ends the claims of a notification, in whatever order the members joined. A notification that
    /// does not name the app is applied only if each id belongs to a claim of the app, and all
    /// these claims are in one environment.
    private func applyUnclaim(
        _ document: [UInt8], in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let unclaim = try tx.seatUnclaims.find(document, in: app) else { return }
        let (environment, ids) = (unclaim.environment, unclaim.ids)
        var named = try tx.seatClaims.all(storedAs: ids, in: app)
        if !unclaim.isBound {
            let isOurs = Set(named.compactMap(\.claim.report.storeID)).count == ids.count
            let places = Set(named.map(\.purchase.environment))
            guard isOurs, places.count == 1,
                environment == nil || places.contains(where: { $0 == environment })
            else { return }
        } else if let environment {
            named = named.filter { $0.purchase.environment == environment }
        }
        try releaseUnclaimed(named, by: .document(document), in: app, at: now)
    }

    /// Ends claims that the App Store has ended, and records that the App Store no longer has these
    /// claims. Idempotent.
    func releaseUnclaimed(
        _ named: [StoredSeatClaim], by cause: EventEntry.Cause, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for (purchase, claims) in Dictionary(grouping: named, by: \.purchase)
            .sorted(by: { $0.key < $1.key })
        {
            try release(
                claims.map(\.claim).filter { $0.end == nil }.sorted { $0.precedes($1) },
                on: purchase, because: .unclaimed, in: app, by: cause, at: now)
        }
        try tx.seatClaims.markEndedInStore(named, in: app)
    }
}

// MARK: - Answers of the App Store

extension SeatUpdates {
    /// Records the App Store's answer about a claim, and applies the App Store's earlier
    /// notifications about the claim's id. Idempotent.
    ///
    /// - Parameters:
    ///   - trouble: why the App Store refused.
    ///   - next: when to compare the seats of the group, unless the comparison is due earlier.
    func complete(
        _ leased: LeasedSeatReport, _ answer: SeatReport.Answer, trouble: String?, in app: AppID,
        by holder: String, nextComparison next: Instant, at now: Instant
    ) throws(StorageFailure) {
        let purchase = try tx.seatReports.complete(
            leased, answer, trouble: trouble, in: app, by: holder, at: now)
        guard let purchase else { return }
        if case .claimed(let id) = answer { try applyUnclaims(naming: id, in: app, at: now) }
        try tx.seatReports.scheduleComparison(
            of: purchase, after: answer, in: app, next: next, at: now)
    }

    /// Records the App Store's count of a group's seats, and ends or reports the claims that
    /// differ. Returns false and records nothing if the lease was lost.
    ///
    /// - Parameter next: when the group is compared again.
    func complete(
        _ leased: LeasedSeatGroup, _ seats: StoreSeats, _ comparison: StoreSeatComparison,
        next: Instant, in app: AppID, by holder: String, at now: Instant
    ) throws(StorageFailure) -> Bool {
        let purchase = leased.purchase
        guard try tx.seatGroups.complete(leased, seats, next: next, in: app, by: holder) else {
            return false
        }
        try releaseUnclaimed(
            comparison.missing.map { StoredSeatClaim($0, on: purchase) }, by: .time, in: app,
            at: now)
        try tx.seatGroups.report(
            comparison, on: purchase, available: seats.available, in: app, at: now)
        return true
    }
}
