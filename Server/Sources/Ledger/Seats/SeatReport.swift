// What the App Store is told of the claims on seats. A claim gives access whether the App Store
// knows of it or not.

/// What the App Store was told of one claim.
package struct SeatReport: Hashable, Sendable {
    package var state: State
    /// Nil if the App Store has not answered.
    package var storeID: StoreSeatID?
    /// When a request was about to be sent for the first time, so that the App Store may know of
    /// the claim. Nil if it does not.
    package var askedAt: Instant?
    /// Since when the state holds, or since when the end of the claim is to be told.
    package var since: Instant

    package enum State: String, Hashable, Sendable, CaseIterable {
        /// The App Store is not told: its settings exclude it, or the subscription does not run.
        case off
        /// It is to be told.
        case due
        /// It has a claim, and its id is known.
        case reported
        /// It does not take what it is told.
        case refused
        /// It has no claim.
        case ended
    }

    package init(
        state: State = .due, storeID: StoreSeatID? = nil, askedAt: Instant? = nil, since: Instant
    ) {
        self.state = state
        self.storeID = storeID
        self.askedAt = askedAt
        self.since = since
    }
}

/// A claim's id in the App Store (Apple: `seatClaimId`), in lower case.
package struct StoreSeatID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

extension SeatReport {
    /// What to do next about a claim.
    package enum Step: Hashable, Sendable {
        /// Report the claim. The same request again has the same answer, which has the id.
        case claim
        /// Report that the claim is over.
        case unclaim(StoreSeatID)
        /// Wait until the subscription runs.
        case wait
        case nothing
    }

    /// - Parameters:
    ///   - isOpen: whether the claim is open.
    ///   - isRunning: whether the App Store takes reports about the group: the subscription runs,
    ///     and the app invites the members.
    package func step(isOpen: Bool, isRunning: Bool) -> Step {
        let wanted: Step
        switch (isOpen, state) {
        case (true, .reported), (_, .ended): return .nothing
        case (true, .off), (true, .due), (true, .refused): wanted = .claim
        // If the id is unknown, the report of the claim is repeated to learn it.
        case (false, _):
            guard askedAt != nil else { return .nothing }
            wanted = storeID.map { .unclaim($0) } ?? .claim
        }
        return isRunning ? wanted : .wait
    }

    /// What the App Store answered.
    package enum Answer: Hashable, Sendable {
        case claimed(StoreSeatID)
        /// It has no claim, or no longer.
        case unclaimed
        /// Every seat is claimed.
        case noSeat
        /// It takes no reports about this group now.
        case notRunning
        /// It refused, and a retry would not change that.
        case refused
    }

    /// The report after an answer, and whether more is to be reported at once.
    ///
    /// - Parameter isFirst: whether no request about the claim was sent before. Otherwise the App
    ///   Store may have the claim, although it refuses now.
    package func after(
        _ answer: Answer, isOpen: Bool, isFirst: Bool, at now: Instant
    ) -> (report: SeatReport, isDue: Bool) {
        var report = self
        report.since = now
        switch answer {
        case .claimed(let id):
            // A late answer changes nothing about a claim that the App Store has ended.
            guard state != .ended else { return (self, false) }
            report.storeID = id
            report.state = .reported
            report.askedAt = askedAt ?? now
            return (report, !isOpen)
        case .unclaimed: report.state = .ended
        case .notRunning: report.state = .off
        case .noSeat,
            .refused where storeID == nil:
            if isFirst { report.askedAt = nil }
            report.state = isOpen ? .refused : .ended
        case .refused: report.state = .refused
        }
        return (report, false)
    }
}
