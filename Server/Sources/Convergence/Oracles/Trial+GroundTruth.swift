import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage

// What must be true once the faults have ended.

extension Trial {
    private static let minute: Int64 = 60_000
    private static let day: Int64 = 86_400_000
    /// The number of minutes after the end of the faults within which all answers must become
    /// correct. The number follows from two facts: missed notifications are requested hourly, and
    /// the App Store may have required an hour's pause.
    static let intervalMinutes: Int64 = 130
    /// The limit if notifications were lost after a 200 response: a day, since the whole history is
    /// read twice a day.
    private static let walkIntervalMinutes: Int64 = 1_440
    /// The interval at which the trial checks whether a server should read the history.
    private static let walkCheckMinutes = 180
    /// With an incomplete history, the maximum number of days for which the trial waits for the
    /// sweep. Purchases that are due later are excluded: a yearly subscription is checked once a
    /// year.
    private static let sweepDaysMax = 40

    // MARK: - Convergence

    /// Lets the promised time pass and compares every answer with the ground truth.
    func converge() async throws {
        let end = now
        for account in accounts.indices {
            for minutes in [1, 10] as [Int64] {
                schedule.add(.open(account: account), at: end + minutes * Self.minute)
            }
        }
        for minutes in [2, 63, 125] as [Int64] {
            schedule.add(.backfill, at: end + minutes * Self.minute)
        }
        var interval = Self.intervalMinutes
        if plan.has(.swallowedNotifications) {
            interval = Self.walkIntervalMinutes
            for minutes in stride(from: 3, to: Int(interval), by: Self.walkCheckMinutes) {
                schedule.add(.walk, at: end + Int64(minutes) * Self.minute)
            }
        }
        try await play(until: end + interval * Self.minute)
        for name in accounts { try await postAll(of: name) }
        if plan.waitsForSweep { try await sweep(since: end) }
        hasConverged = true
        try await checkAnswers()
    }

    /// Lets time pass until every purchase was checked at least once after the faults ended. Ends
    /// after ``sweepDaysMax`` days, because some checks are due later.
    private func sweep(since end: Int64) async throws {
        for _ in 0..<Self.sweepDaysMax {
            uncheckedPurchases = try await uncheckedPurchases(since: end)
            if uncheckedPurchases.isEmpty { return }
            try await play(until: now + Self.day)
        }
        uncheckedPurchases = try await uncheckedPurchases(since: end)
        report.tally.add("not due before the end of the sweep", uncheckedPurchases.count)
    }

    /// The purchases that were not checked since a moment.
    private func uncheckedPurchases(since end: Int64) async throws -> Set<String> {
        var silent: Set<String> = []
        for name in accounts {
            let books = await groundTruth(of: name)
            for booked in books {
                let known = try await checkHistory(of: booked)
                let asked = known?.askedAt?.milliseconds ?? .min
                if asked < end { silent.insert(booked.originalTransactionID) }
            }
        }
        return silent
    }

    /// Continues without faults: every answer must be correct at every moment.
    func playWithoutFaults() async throws {
        let days = Int64(checkRandom.choice(2, 9, 33))
        let until = now + days * Self.day
        var at = now
        while at < until {
            at += 5 * Self.day
            schedule.add(.backfill, at: at)
        }
        try await play(until: until)
        try await checkAnswers()
        if plan.clientEra == .legacy { try await reconcileAll() }
    }

    /// Expects the answer to equal the ground truth, for every purchase and every entitlement.
    func expectTruth(
        of name: String, _ books: [TruePurchase], _ state: CustomerState
    ) throws {
        let known = books.filter { booked in
            (hasConverged || linked.contains(booked.originalTransactionID))
                && !isExcluded(booked)
        }
        let truth = Set(known.map { PurchaseView($0) })
        // A posted purchase may have been recorded by a server that crashed before it responded.
        let names = Set(known.map(\.originalTransactionID))
        let present = Instant(milliseconds: now)
        let beginning = Set(books.filter(isExcluded).map(\.originalTransactionID))
        let answer = Set(state.purchases.compactMap { PurchaseView($0, at: present) })
            .filter {
                !beginning.contains($0.original) && (hasConverged || names.contains($0.original))
            }
        let (settled, isHeld) = resolved(answer, truth)
        guard settled == truth else {
            let wrong = settled.subtracting(truth).map(\.description).sorted()
            let right = truth.subtracting(settled).map(\.description).sorted()
            throw violation(
                "convergence", "\(name): the ground truth is \(right), the answer is \(wrong)")
        }
        let products = state.entitlements.filter { $0.key != TrialFixture.membership }
        let open = Set(products.filter { $0.value.isOpen }.map { $0.key.rawValue })
        let opening = Set(
            known.filter { $0.opensSomething && !isUnlisted($0) }.map(\.productID))
        let isWhole = hasConverged || known.count == books.count
        guard !isWhole || isHeld || !beginning.isEmpty || open == opening else {
            throw violation("convergence", "\(name): \(opening) are open, the answer is \(open)")
        }
        guard !isHeld else { return }
        try expectSeats(of: name, known, state)
        guard isWhole, beginning.isEmpty else { return }
        try expectMembership(of: name, books, state)
        try expectUnlistedNamed(of: name, known, state)
    }

    private func isUnlisted(_ booked: TruePurchase) -> Bool {
        plan.has(.unlistedProducts) && booked.productID == TrialFixture.unlisted.rawValue
    }

    /// Expects that the answer names open purchases that give no entitlement, because the
    /// configuration does not list their products.
    private func expectUnlistedNamed(
        of name: String, _ books: [TruePurchase], _ state: CustomerState
    ) throws {
        let isBought = books.contains { isUnlisted($0) && $0.isOpen }
        let isNamed = state.unlistedProducts.contains { $0.product == TrialFixture.unlisted }
        guard isBought == isNamed else {
            throw violation(
                "convergence",
                "\(name): bought and not listed is \(isBought), the answer is \(isNamed)")
        }
        if isNamed { report.tally.add("product named that is not listed") }
    }

    /// The entitlement that every subscription gives is open until the last paid period ends, even
    /// across a change of product.
    private func expectMembership(
        of name: String, _ books: [TruePurchase], _ state: CustomerState
    ) throws {
        let open = books.filter { $0.isOpen && $0.renewsTo != nil }
        // If a payment was made ahead of time, and no document has reported it yet, the server
        // cannot know the payment.
        guard open.allSatisfy({ $0.isInGrace || state.knowsItsEnd(of: $0) }) else { return }
        let paid = open.compactMap { $0.until?.milliseconds }.max()
        let right = state.entitlements[TrialFixture.membership].flatMap { $0.isOpen ? $0 : nil }
        guard right?.until?.milliseconds == paid else {
            let until = paid.map { "\(Instant(milliseconds: $0))" } ?? "-"
            throw violation(
                "convergence",
                "\(name): paid until \(until), the answer is \(right?.reason.sentence ?? "-")")
        }
    }

    private func isExcluded(_ booked: TruePurchase) -> Bool {
        isAboutToBegin(booked) || isNew(booked)
            || uncheckedPurchases.contains(booked.originalTransactionID)
            || excused.contains(booked.originalTransactionID) || isNotExpressible(booked)
            || isPending(booked) || usedUp.contains(booked.originalTransactionID)
    }

    /// Whether the purchase was made at the present moment, so that its app has had no time to post
    /// it.
    private func isNew(_ booked: TruePurchase) -> Bool {
        !linked.contains(booked.originalTransactionID)
            && booked.charges.allSatisfy { $0.at.milliseconds >= now }
    }

    /// Whether the purchase was refunded and ended a moment ago. If the App Store does not report
    /// ends, the server asks about the purchase only after a notification would have had time to
    /// arrive.
    private func isPending(_ booked: TruePurchase) -> Bool {
        guard plan.has(.habits), booked.isRevoked, let end = booked.period?.upperBound else {
            return false
        }
        return (end.milliseconds...end.milliseconds + Self.minute).contains(now)
    }

    /// Whether a period is paid and begins within the tolerated clock skew. Such a period already
    /// counts as open.
    private func isAboutToBegin(_ booked: TruePurchase) -> Bool {
        guard !booked.isOpen, let next = booked.nextBegins else { return false }
        return next.milliseconds <= now + Timeline.clockSkewMax.wholeMilliseconds
    }

    /// The answer. If the App Store does not report the end of a purchase that is held open, the
    /// ground truth replaces this purchase in the answer.
    private func resolved(
        _ answer: Set<PurchaseView>, _ truth: Set<PurchaseView>
    ) -> (Set<PurchaseView>, isHeld: Bool) {
        guard plan.has(.habits) else { return (answer, false) }
        var isHeld = false
        let settled = answer.map { ours in
            let theirs = truth.first { $0.original == ours.original && !$0.isOpen }
            guard ours.state == "unconfirmed", let theirs else { return ours }
            isHeld = true
            return theirs
        }
        return (Set(settled), isHeld)
    }

    // MARK: - At the end

    func expectInvariants() async throws {
        try await expectMoney()
        try await expectAnyOrder()
        try await expectLog()
        try await expectReplay()
        report.statistics.documents = try await Database(database).read { try $0.documents.count() }
        let genuine = Set(await simulator.notifications.map(\.signedPayload))
        let strays = Set(await simulator.strays.map(\.signedPayload)).subtracting(genuine)
        guard strays.isDisjoint(with: evidence.accepted) else {
            throw violation("trust", "a document was accepted that the App Store did not sign")
        }
        try expectBoundedWork()
    }

    /// Expects a log without gaps. Each event must begin with the state in which the previous event
    /// of its purchase ended. The last event must end with the current state. The sum of all money
    /// must equal the timelines' money.
    private func expectLog() async throws {
        while try await auditor.events.emitTimeBased() > 0 {}
        let (wrong, last) = try await Database(database).readingLog { tx in
            (try tx.consistency.logDifferences(), try tx.events.lastSequence(of: TrialFixture.app))
        }
        self.report.statistics.events += Int(last)
        guard wrong.count == 0 else {
            throw violation("event log", wrong.first.joined(separator: "; "))
        }
    }

    /// The maximum number of requests a day per purchase, if every request fails.
    private static let requestsPerDayMax = 60
    /// The minimum number of days over which requests are averaged: many requests may come together
    /// in a few days.
    private static let daysMin = 10

    /// Expects that servers send no endless requests. This is not only checked at the end, because
    /// endless requests could keep a trial from ending.
    func expectBoundedWork() throws {
        let days = max(Self.daysMin, Int((now - Plan.start.milliseconds) / Self.day) + 1)
        let most = max(1, checkedPurchases.count) * days * Self.requestsPerDayMax
        guard report.statistics.questions <= most else {
            throw violation("bounded work", "\(report.statistics.questions) requests")
        }
    }

    /// Expects that the timelines contain all money of the ground truth, each order once, and
    /// nothing else.
    private func expectMoney() async throws {
        guard plan.clientEra == .modern else { return try await expectOrders() }
        for name in accounts {
            let books = await groundTruth(of: name)
            guard !books.isEmpty else { continue }
            let state = try await response(to: name, books)
            let payments = state.purchases.flatMap { $0.timeline.periods.map(\.payment) }
            let ours = state.purchases.flatMap { purchase in
                purchase.timeline.periods.compactMap {
                    BookedOrder($0.payment, of: purchase.timeline.purchase)?.comparable
                }
            }
            let upgraded = payments.filter { $0.isUpgraded && $0.revocation == nil }
            let untold = Set(upgraded.map(BookedOrder.order(of:)))
            let charges = creditable(books).flatMap(\.charges)
            let theirs = charges.map(BookedOrder.init).map { order in
                (untold.contains(order.order) ? order.withoutRefund() : order).comparable
            }
            guard Set(ours).count == ours.count else {
                throw violation("money", "\(name): an order is counted twice")
            }
            // If the documents of an order were lost, and no history contains the order, it was
            // never reported. All other orders must be correct.
            var missing = Set(theirs).subtracting(ours)
            var wrong = Set(ours).subtracting(theirs)
            BookedOrder.removeRounded(
                &missing, &wrong, by: BookedOrder.roundings(in: charges))
            if plan.has(.incompleteHistory) { missing = [] }
            guard missing.isEmpty, wrong.isEmpty else {
                throw violation(
                    "money", "\(name): the ground truth has \(missing), the answer \(wrong)")
            }
        }
    }

    /// Expects that the facts of each purchase make the same timeline in any order, even if some
    /// facts are repeated.
    private func expectAnyOrder() async throws {
        var lots = plan.random("order")
        for name in accounts {
            for booked in await groundTruth(of: name) {
                let purchase = booked.purchase
                let (stored, facts) = try await Database(database).read { tx in
                    (
                        try tx.purchases.timeline(of: purchase, in: TrialFixture.app),
                        try tx.facts.all(about: purchase, in: TrialFixture.app).map(\.fact)
                    )
                }
                let repeated = (facts + facts.shuffled(using: &lots).prefix(facts.count / 2))
                    .shuffled(using: &lots)
                let once = Timeline(of: purchase, repeated)
                let step = repeated.reduce(Timeline(of: purchase, [])) { $0.adding([$1]) }
                guard stored == once, stored == step else {
                    throw violation("order", "\(purchase) depends on the order of its facts")
                }
            }
        }
    }

    // MARK: - Coverage

    func recordCoverage() async {
        let sent = await simulator.notifications
        for sent in sent {
            if let row = sent.draft.row { report.tally.add("row \(row.rawValue)") }
        }
        let struck = await simulator.setFaults { faults in
            faults.notifications.struck.map { ("notification \($0.key.rawValue)", $0.value) }
                + faults.api.struck.map { ("API \($0.key.rawValue)", $0.value) }
                + faults.devices.struck.map { ("device \($0.key.rawValue)", $0.value) }
        }
        for (name, count) in struck { report.tally.add(name, count) }
        for family in plan.families { report.tally.add("family \(family.rawValue)") }
        report.statistics.trials = 1
        report.statistics.virtualMilliseconds = now - Plan.start.milliseconds
        report.tally.add("speech \(plan.clientEra.rawValue)")
        // Without notifications, the server depends on requests.
        guard plan.families.isEmpty, plan.clientEra == .modern else { return }
        report.statistics.calmQuestions = report.statistics.questions
        for name in accounts {
            report.statistics.calmPeriods += await groundTruth(of: name).reduce(0) {
                $0 + $1.charges.count
            }
        }
    }
}

extension CustomerState {
    /// Whether the answer contains a period that ends when the paid time of the ground truth ends.
    fileprivate func knowsItsEnd(of booked: TruePurchase) -> Bool {
        purchases.contains { state in
            state.timeline.purchase.original.rawValue == booked.originalTransactionID
                && state.timeline.periods.contains {
                    $0.payment.until?.milliseconds == booked.until?.milliseconds
                }
        }
    }
}

extension TruePurchase {
    /// Whether the purchase gives access. Consumables credit wallets instead, and the app
    /// configures the length of non-renewing terms.
    fileprivate var opensSomething: Bool {
        isOpen && (period != nil || productID == "atlas")
    }
}
