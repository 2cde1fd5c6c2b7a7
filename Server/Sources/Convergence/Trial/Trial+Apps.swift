import AppStoreFormats
import Engine
import Ledger
import Simulator

// Customers, their apps, and the schedule of the period with faults.

extension Trial {
    // MARK: - The plan

    /// Schedules everything that is to be done in the period with faults.
    func fillSchedule() {
        let start = Plan.start.milliseconds
        let length = plan.stormEnd.milliseconds - start
        for _ in 0..<max(4, plan.days / 8) {
            schedule.add(.check, at: start + Int64(checkRandom.fraction() * Double(length)))
        }
        for account in accounts.indices {
            var at = start
            while at < start + length {
                at += appRandom.length(from: .hours(12), to: .days(12))
                schedule.add(.open(account: account), at: at)
            }
        }
        for _ in 0..<plan.acts {
            schedule.add(
                .act, at: plan.moment(start + Int64(actRandom.fraction() * Double(length))))
        }
        var at = start
        while at < start + length {
            schedule.add(.backfill, at: at)
            at += serverRandom.length(from: .hours(2), to: .days(9))
        }
        scheduleWalks(start, length)
        if plan.clientEra == .mixed { schedule.add(.update, at: plan.updatesAt) }
        scheduleOutages(start, length)
        scheduleSpecialCustomers(start, length)
        scheduleRobberies(start, length)
        scheduleGroup(start, length)
    }

    /// Schedules the times at which servers check whether they should read the history. A real
    /// server checks this continuously; in a trial, servers check it only now and then.
    private func scheduleWalks(_ start: Int64, _ length: Int64) {
        guard plan.has(.swallowedNotifications) else { return }
        var at = start
        while at < start + length {
            schedule.add(.walk, at: at)
            at += swallowRandom.length(from: .hours(3), to: .days(3))
        }
    }

    private func scheduleOutages(_ start: Int64, _ length: Int64) {
        for number in servers.indices {
            var lots = plan.random("server \(number)")
            let from = start + Int64(lots.fraction() * Double(length))
            let until = from + lots.length(from: .hours(1), to: .days(9))
            if plan.has(.downtime) {
                schedule.add(.stop(server: number), at: from)
                schedule.add(.start(server: number), at: until)
            }
            guard plan.has(.skew) else { continue }
            for _ in 0..<3 {
                let at = start + Int64(lots.fraction() * Double(length))
                schedule.add(.skew(server: number), at: at)
            }
        }
    }

    // MARK: - Apps

    /// Finds the new transactions of each account. Schedules two kinds of actions: the account's
    /// app posts these transactions, and answers are checked at each end of a period and just
    /// before it.
    func watchAccounts() async throws {
        if let breach = report.violation { throw breach }
        for (number, books) in await simulator.groundTruths(of: accounts).enumerated() {
            for booked in books {
                watchEnds(of: booked)
                let transactions = booked.charges.map(\.transactionID)
                for id in transactions + [booked.originalTransactionID]
                where seen.insert(id).inserted {
                    schedulePost(number)
                }
            }
        }
    }

    private func schedulePost(_ account: Int) {
        let isLost = appRandom.happens(0.5)
        let delay = appRandom.length(from: .seconds(1), to: .days(20))
        let isRepeated = appRandom.happens(0.5)
        if isStormy, plan.has(.lostPosts), isLost { return report.tally.add("post lost") }
        let isLate = isStormy && plan.has(.latePosts)
        schedule.add(.post(account: account), at: now + (isLate ? delay : 0))
        if isStormy, plan.has(.repeatedPosts), isRepeated {
            schedule.add(.post(account: account), at: now + delay)
        }
    }

    private func watchEnds(of booked: TruePurchase) {
        let ends = [booked.until, booked.graceUntil, booked.period?.upperBound]
        for end in ends.compactMap(\.self).map(\.milliseconds) where end > now {
            for stop in [end - 1, end] where stop > now { schedule.add(.check, at: stop) }
        }
    }

    /// Lets the app start: it posts everything that the device has, and requests what its customer
    /// may use.
    func open(_ name: String) async throws {
        if isStormy { _ = try? await simulator.introductoryOffers(on: name + "-1") }
        guard !(await groundTruth(of: name)).isEmpty else { return }
        if isStormy, plan.has(.lostPosts), appRandom.happens(0.5) { return }
        if isModern() {
            let (transactions, renewals) = try await shown(to: name)
            try await post(transactions, renewals, of: name)
        } else {
            try await postReceipt(of: name)
        }
        guard let server = anyServer() else { return }
        let environment = Ledger.Environment(await groundTruth(of: name))
        do {
            _ = try await server.engine.customers.find(
                customer(of: name), app: TrialFixture.app, environment: environment)
        } catch { try requireCrashed(error, server) }
        await scheduleRestarts()
    }

    /// The transactions that an app gets from StoreKit at its start: all transactions, or the
    /// subset that the app reads.
    private func shown(
        to name: String
    ) async throws -> (transactions: [String], renewals: [String]) {
        let device = name + "-1"
        let look = appRandom.number(in: 0...9)
        switch isStormy && plan.has(.deviceQuirks) ? look : 0 {
        case 4...6:
            let unfinished = try await simulator.unfinished(on: device)
            for id in unfinished.compactMap({
                ObservedDocument(transaction: $0)?.transaction?.transactionId
            }) {
                try? await simulator.finish(id, on: device)
            }
            return (unfinished, [])
        case 7, 8: return (try await simulator.entitlements(on: device), [])
        case 9: return (try await simulator.statuses(on: device).map(\.signedTransaction), [])
        default:
            let restored = try await simulator.restore(on: device)
            return (restored.signedTransactions, restored.signedRenewalInfos)
        }
    }

    /// Lets the app post all transactions of the account.
    func postAll(of name: String) async throws {
        guard !(await groundTruth(of: name)).isEmpty else { return }
        guard appUpdate.isModern else { return try await postReceipt(of: name) }
        try await post(simulator.transactions(on: name + "-1"), [], of: name)
    }

    /// Lets the app post the last transaction only.
    func postLatest(of name: String) async throws {
        guard isModern() else { return try await postReceipt(of: name) }
        try await post(simulator.transactions(on: name + "-1", last: 1), [], of: name)
    }

    func post(
        _ transactions: [String], _ renewals: [String], of name: String
    ) async throws {
        let letters =
            transactions.compactMap { ObservedDocument(transaction: $0) }
            + renewals.compactMap { ObservedDocument(renewal: $0) }
        let altered = { [sabotage, now] (text: String) in
            sabotage?.altered(document: text, at: now) ?? text
        }
        guard !transactions.isEmpty else { return }
        try await post(
            PurchaseEvidence(
                signedTransactions: transactions.map(altered),
                signedRenewalInfos: renewals.map(altered)),
            saying: letters, of: name)
    }

    func post(
        _ posted: PurchaseEvidence, saying letters: [ObservedDocument], of name: String
    ) async throws {
        guard let server = anyServer() else { return }
        for letter in letters { evidence.recordPossible(letter, at: now) }
        for booked in await groundTruth(of: name) { extendHorizon(booked) }
        try await attemptTheft(posted, saying: letters, at: server)
        do {
            let state = try await post(posted, of: await customer(of: name), to: server)
            for letter in letters { evidence.recordAccepted(letter, at: now) }
            copy(letters, of: name)
            linked.formUnion(state.purchases.map(\.timeline.purchase.original.rawValue))
            report.tally.add("purchase posted")
        } catch let breach as Violation {
            throw breach
        } catch let error as EngineFailure {
            guard server.process.isOn else { return await scheduleRestarts() }
            report.tally.add("post rejected")
            guard await !isExcused(error, of: name) else {
                for letter in letters { evidence.recordAccepted(letter, at: now) }
                copy(letters, of: name)
                return await scheduleRestarts()
            }
            let isDevices = plan.has(.deviceQuirks) || plan.has(.skew)
            guard isDevices || !isStormy || !error.isPermanent else {
                throw Violation(
                    oracle: "verbs", message: "a device's purchases were rejected: \(error)")
            }
            return await scheduleRestarts()
        }
        try await postBeside(posted, of: name, at: server)
        await scheduleRestarts()
    }

    // MARK: - Acts

    /// Makes a change to a random purchase. The App Store may reject the change, because many
    /// changes come too late near the end of a period. That is not a failure.
    func act() async {
        guard let name = actRandom.pick(accounts) else { return }
        let purchase = actRandom.pick(await groundTruth(of: name))
        let isWavering = actRandom.happens(0.2)
        let pause = actRandom.length(from: .seconds(1), to: .hours(90))
        let act = nextAct(of: purchase)
        guard let purchase, let act else { return }
        await perform(isWavering ? .cancel : act, of: purchase.originalTransactionID)
        guard isWavering else { return }
        schedule.add(.resume(purchase.originalTransactionID), at: plan.moment(now + pause))
    }

    func perform(_ act: SubscriptionAct, of purchase: String) async {
        do {
            _ = try await simulator.change(purchase, act)
            report.log("done: \(act) to \(purchase)", at: now)
        } catch { report.tally.add("act rejected by the App Store") }
    }

    private func nextAct(of purchase: TruePurchase?) -> SubscriptionAct? {
        let product = actRandom.pick(neighbours(of: purchase?.productID))
        let days = actRandom.number(in: 1...90)
        let past = actRandom.pick(purchase?.charges ?? [])
        let chosen = actRandom.number(in: 0...14)
        switch chosen {
        case 0: return .cancel
        case 1: return .resume
        case 2, 3: return .failBilling
        case 4, 5: return .recoverBilling
        case 6: return .refund()
        case 7: return .refund(RefundOrder(.prorated(nil)))
        case 8, 9: return .reverseRefund()
        case 10: return .requestRefund(.other, .granted)
        case 11: return .extend(ExtensionOrder(days: days))
        case 12: return .renewNow
        case 13: return past.map { .refund(of: $0.transactionID) }
        default: return product.map { .changeProduct($0) }
        }
    }

    /// The products that a customer can change to.
    private func neighbours(of product: String?) -> [String] {
        let groups = fixture.catalogue.groups.map { $0.subscriptions.map(\.id) }
        return groups.first { group in product.map(group.contains) ?? false } ?? []
    }
}

extension TruePurchase {
    /// The purchase as our servers identify it.
    var purchase: PurchaseID {
        PurchaseID(TransactionID(rawValue: originalTransactionID), in: Ledger.Environment([self]))
    }
}

extension Ledger.Environment {
    /// The environment of an account, which has purchases in one environment only.
    init(_ books: [TruePurchase]) {
        self = books.first?.environment == .sandbox ? .sandbox : .production
    }
}
