// What is reported to the App Store about the claims on seats. A claim gives access even if the App
// Store does not know it.

/// What was reported to the App Store about one claim.
package struct SeatReport: Hashable, Sendable {
    package var state: State
    /// The claim's id in the App Store. Nil if the App Store has not answered.
    package var storeID: StoreSeatID?
    /// When the first request about the claim was about to be sent: from then on the App Store may
    /// know the claim. Nil if the App Store cannot know the claim.
    package var askedAt: Instant?
    /// The time since which the report has its state, or since which the end of the claim is to be
    /// reported.
    package var since: Instant

    package enum State: String, Hashable, Sendable, CaseIterable {
        /// The claim is not reported: the app's settings exclude that, or the subscription is not
        /// active.
        case off
        /// The claim is to be reported.
        case due
        /// The App Store has the claim, and its id is known.
        case reported
        /// The App Store refuses the report.
        case refused
        /// The App Store no longer has the claim.
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
        /// Report the claim. A repeated request gets the same answer, which contains the id.
        case claim
        /// Report that the claim is over.
        case unclaim(StoreSeatID)
        /// Wait until the subscription is active.
        case wait
        case nothing
    }

    /// - Parameters:
    ///   - isOpen: whether the claim is open.
    ///   - isRunning: whether the App Store accepts reports about the group: the subscription is
    ///     active, and the app invites the members.
    package func step(isOpen: Bool, isRunning: Bool) -> Step {
        let wanted: Step
        switch (isOpen, state) {
        case (true, .reported), (_, .ended): return .nothing
        case (true, .off), (true, .due), (true, .refused): wanted = .claim
        // If the id is unknown, the report of the claim is repeated to learn the id.
        case (false, _):
            guard askedAt != nil else { return .nothing }
            wanted = storeID.map { .unclaim($0) } ?? .claim
        }
        return isRunning ? wanted : .wait
    }

    /// What the App Store answered.
    package enum Answer: Hashable, Sendable {
        case claimed(StoreSeatID)
        /// The App Store does not have the claim, or no longer has it.
        case unclaimed
        /// Every seat is claimed.
        case noSeat
        /// The App Store accepts no reports about this group now.
        case notRunning
        /// The App Store refused, and a retry would not change that.
        case refused
    }

    /// The report after an answer of the App Store, and whether another request must follow at
    /// once.
    ///
    /// - Parameter isFirst: whether no request about the claim was sent before. If false, the App
    ///   Store may have the claim although it refuses now.
    package func after(
        _ answer: Answer, isOpen: Bool, isFirst: Bool, at now: Instant
    ) -> (report: SeatReport, isDue: Bool) {
        var report = self
        report.since = now
        switch answer {
        case .claimed(let id):
            // A late answer does not change a claim that the App Store has ended.
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
