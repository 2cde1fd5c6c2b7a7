import AppStoreFormats
import Engine
import Ledger
import Simulator

// Customers, their apps, and the schedule of the period with faults.

extension Trial {
    // MARK: - The plan

    /// Schedules everything that is to be done in the period with faults.
    func fillAgenda() {
        let start = Plan.start.milliseconds
        let length = plan.stormEnd.milliseconds - start
        for _ in 0..<max(4, plan.days / 8) {
            agenda.add(.look, at: start + Int64(lookLots.fraction() * Double(length)))
        }
        for account in accounts.indices {
            var at = start
            while at < start + length {
                at += appLots.length(from: .hours(12), to: .days(12))
                agenda.add(.open(account: account), at: at)
            }
        }
        for _ in 0..<plan.acts {
            agenda.add(
                .act, at: plan.moment(start + Int64(actLots.fraction() * Double(length))))
        }
        var at = start
        while at < start + length {
            agenda.add(.catchUp, at: at)
            at += serverLots.length(from: .hours(2), to: .days(9))
        }
        planWalks(start, length)
        if plan.speech == .mixed { agenda.add(.update, at: plan.updatesAt) }
        planOutages(start, length)
        planPeople(start, length)
    }

    /// A real server checks all the time whether it should read the history; here it does so now
    /// and then.
    private func planWalks(_ start: Int64, _ length: Int64) {
        guard plan.has(.swallowedNotifications) else { return }
        var at = start
        while at < start + length {
            agenda.add(.walk, at: at)
            at += swallowLots.length(from: .hours(3), to: .days(3))
        }
    }

    private func planOutages(_ start: Int64, _ length: Int64) {
        for number in servers.indices {
            var lots = plan.lots("server \(number)")
            let from = start + Int64(lots.fraction() * Double(length))
            let until = from + lots.length(from: .hours(1), to: .days(9))
            if plan.has(.downtime) {
                agenda.add(.stop(server: number), at: from)
                agenda.add(.start(server: number), at: until)
            }
            guard plan.has(.skew) else { continue }
            for _ in 0..<3 {
                let at = start + Int64(lots.fraction() * Double(length))
                agenda.add(.skew(server: number), at: at)
            }
        }
    }

    // MARK: - Apps

    /// Finds what is new on each account: its app will post it, and answers are checked just before
    /// and at each end.
    func watchAccounts() async throws {
        if let breach = report.breach { throw breach }
        for (number, books) in await simulator.truths(of: accounts).enumerated() {
            for booked in books {
                watchEnds(of: booked)
                let transactions = booked.charges.map(\.transactionID)
                for id in transactions + [booked.originalTransactionID]
                where seen.insert(id).inserted {
                    announce(number)
                }
            }
        }
    }

    private func announce(_ account: Int) {
        let isLost = appLots.happens(0.5)
        let delay = appLots.length(from: .seconds(1), to: .days(20))
        let isRepeated = appLots.happens(0.5)
        if isStormy, plan.has(.lostPosts), isLost { return report.tally.add("post lost") }
        let isLate = isStormy && plan.has(.latePosts)
        agenda.add(.post(account: account), at: now + (isLate ? delay : 0))
        if isStormy, plan.has(.repeatedPosts), isRepeated {
            agenda.add(.post(account: account), at: now + delay)
        }
    }

    private func watchEnds(of booked: BookedPurchase) {
        let ends = [booked.until, booked.graceUntil, booked.period?.upperBound]
        for end in ends.compactMap(\.self).map(\.milliseconds) where end > now {
            for stop in [end - 1, end] where stop > now { agenda.add(.look, at: stop) }
        }
    }

    /// The app starts: it posts everything that the device has, and requests what its customer may
    /// use.
    func open(_ name: String) async throws {
        if isStormy { _ = try? await simulator.introductoryOffers(on: name + "-1") }
        guard !(await books(of: name)).isEmpty else { return }
        if isStormy, plan.has(.lostPosts), appLots.happens(0.5) { return }
        if isModern() {
            let (transactions, renewals) = try await shown(to: name)
            try await post(transactions, renewals, of: name)
        } else {
            try await postReceipt(of: name)
        }
        guard let server = anyServer() else { return }
        let environment = Ledger.Environment(await books(of: name))
        do {
            _ = try await server.engine.customer(
                customer(of: name), app: House.app, environment: environment)
        } catch { try excuse(error, server) }
        await bury()
    }

    /// What StoreKit shows an app as it starts: everything, or the subset that the app reads
    /// instead.
    private func shown(
        to name: String
    ) async throws -> (transactions: [String], renewals: [String]) {
        let device = name + "-1"
        let look = appLots.number(in: 0...9)
        switch isStormy && plan.has(.oddDevices) ? look : 0 {
        case 4...6:
            let unfinished = try await simulator.unfinished(on: device)
            for id in unfinished.compactMap({ Letter(transaction: $0)?.transaction?.transactionId })
            {
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

    /// The app posts every transaction that has ever existed.
    func postAll(of name: String) async throws {
        guard !(await books(of: name)).isEmpty else { return }
        guard progress.isModern else { return try await postReceipt(of: name) }
        try await post(simulator.transactions(on: name + "-1"), [], of: name)
    }

    /// The app has seen a transaction and posts the last one.
    func postNews(of name: String) async throws {
        guard isModern() else { return try await postReceipt(of: name) }
        try await post(simulator.transactions(on: name + "-1", last: 1), [], of: name)
    }

    func post(
        _ transactions: [String], _ renewals: [String], of name: String
    ) async throws {
        let letters =
            transactions.compactMap { Letter(transaction: $0) }
            + renewals.compactMap { Letter(renewal: $0) }
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
        _ posted: PurchaseEvidence, saying letters: [Letter], of name: String
    ) async throws {
        guard let server = anyServer() else { return }
        for letter in letters { evidence.offer(letter, at: now) }
        for booked in await books(of: name) { reach(booked) }
        try await letThiefTry(posted, saying: letters, at: server)
        do {
            let state = try await server.engine.record(
                posted, of: await customer(of: name), app: House.app)
            for letter in letters { evidence.take(letter, at: now) }
            linked.formUnion(state.purchases.map(\.timeline.purchase.original.rawValue))
            report.tally.add("purchase posted")
        } catch {
            guard server.power.isOn else { return await bury() }
            report.tally.add("post rejected")
            guard await !isExcused(error, of: name) else {
                for letter in letters { evidence.take(letter, at: now) }
                return await bury()
            }
            let isDevices = plan.has(.oddDevices) || plan.has(.skew)
            guard isDevices || !isStormy || !error.isForever else {
                throw Breach(oracle: "verbs", words: "a device's purchases were rejected: \(error)")
            }
        }
        await bury()
    }

    // MARK: - Acts

    /// Makes a change to a random purchase. It is not a failure if the App Store rejects it: near
    /// the ends of periods much comes too late.
    func act() async {
        guard let name = actLots.pick(accounts) else { return }
        let purchase = actLots.pick(await books(of: name))
        let isWavering = actLots.happens(0.2)
        let pause = actLots.length(from: .seconds(1), to: .hours(90))
        let act = nextAct(of: purchase)
        guard let purchase, let act else { return }
        await carryOut(isWavering ? .cancel : act, of: purchase.originalTransactionID)
        guard isWavering else { return }
        agenda.add(.resume(purchase.originalTransactionID), at: plan.moment(now + pause))
    }

    func carryOut(_ act: SubscriptionAct, of purchase: String) async {
        do {
            _ = try await simulator.change(purchase, act)
            report.note("done: \(act) to \(purchase)", at: now)
        } catch { report.tally.add("act rejected by the App Store") }
    }

    private func nextAct(of purchase: BookedPurchase?) -> SubscriptionAct? {
        let product = actLots.pick(neighbours(of: purchase?.productID))
        let days = actLots.number(in: 1...90)
        let past = actLots.pick(purchase?.charges ?? [])
        let chosen = actLots.number(in: 0...14)
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

    /// The products that one can change to.
    private func neighbours(of product: String?) -> [String] {
        let groups = house.shop.groups.map { $0.subscriptions.map(\.id) }
        return groups.first { group in product.map(group.contains) ?? false } ?? []
    }
}

extension BookedPurchase {
    /// The purchase as our servers identify it.
    var purchase: PurchaseID {
        PurchaseID(TransactionID(rawValue: originalTransactionID), in: Ledger.Environment([self]))
    }
}

extension Ledger.Environment {
    /// The environment of an account, which has only one.
    init(_ books: [BookedPurchase]) {
        self = books.first?.environment == .sandbox ? .sandbox : .production
    }
}
