import AppStoreFormats
import Engine
import Ledger
import Simulator

/// Many customers at once, and one thing wrong for long: every hour the server asks what is due,
/// every day the newcomers' apps post, and from time to time every answer is held against the
/// books.
package struct Crowd: Sendable {
    package var seed: UInt64
    package var accounts: Int
    package var days: Int
    /// Days between two looks at everybody.
    package var lookEvery = 10
    /// What goes wrong, from the beginning.
    package var arm: @Sendable (inout Faults) -> Void

    package init(
        seed: UInt64, accounts: Int, days: Int, arm: @escaping @Sendable (inout Faults) -> Void
    ) {
        self.seed = seed
        self.accounts = accounts
        self.days = days
        self.arm = arm
    }

    /// What was seen.
    package struct Findings: Hashable, Sendable {
        /// Answers that were held against the books.
        package var compared = 0
        /// Customers of whom something had changed less than the promised interval before.
        package var tooFresh = 0
        /// Answers that held a payer in without knowing.
        package var held = 0
        package var questions = 0
        package var breach: Breach?
    }

    /// Plays it: first with what goes wrong, then an hour after that has ended.
    ///
    /// - Throws: where it cannot be set up.
    package func play(in house: House) async throws -> Findings {
        var plan = Plan(seed: seed)
        plan.families = []
        plan.accounts = accounts
        plan.days = days
        plan.acts = 0
        return try await Trial.play(self, plan, in: house)
    }
}

extension Trial {
    private static let hour: Int64 = 3_600_000

    fileprivate static func play(
        _ crowd: Crowd, _ plan: Plan, in house: House
    ) async throws -> Crowd.Findings {
        let switchboard = Switchboard()
        let trial = try Trial(plan, house, nil, switchboard)
        switchboard.connect(trial)
        defer { switchboard.connect(nil) }
        return try await trial.play(crowd)
    }

    private func play(_ crowd: Crowd) async throws -> Crowd.Findings {
        try await auditor.prepare()
        await simulator.setFaults { crowd.arm(&$0) }
        accounts = try await simulator.populate(crowd.accounts, within: .days(crowd.days))
        startServers()
        var findings = Crowd.Findings()
        var newcomers = Set(accounts)
        do {
            for hour in 1...crowd.days * 24 {
                try await pass(Self.hour)
                if hour % 24 == 0 { try await welcome(&newcomers) }
                if hour % (24 * crowd.lookEvery) == 0 { try await lookAtAll(&findings) }
            }
            isStormy = false
            await simulator.setFaults { $0.stop() }
            try await welcome(&newcomers)
            for _ in 0..<5 { try await pass(Self.hour / 4) }
            hasConverged = true
            try await lookAtAll(&findings)
        } catch let breach as Breach { findings.breach = breach }
        findings.questions = report.figures.questions
        database.close()
        return findings
    }

    /// Time goes by, and the server does what it does every second.
    private func pass(_ milliseconds: Int64) async throws {
        try await simulator.advance(to: AppStoreDate(milliseconds: now + milliseconds))
        if let breach = report.breach { throw breach }
        try await catchUp()
        while let next = try await nextQuestion(), next <= now { try await askDue() }
    }

    /// Apps of those who have come post what they have bought.
    private func welcome(_ newcomers: inout Set<String>) async throws {
        for name in newcomers.sorted() where !(await books(of: name)).isEmpty {
            try await postAll(of: name)
            newcomers.remove(name)
        }
    }

    /// Whoever's last change is older than the promised interval is answered true.
    private func lookAtAll(_ findings: inout Crowd.Findings) async throws {
        let fresh = now - Self.intervalMinutes * 60_000
        var changed: [String: Int64] = [:]
        for sent in await simulator.notifications {
            if let name = sent.notice.account { changed[name] = sent.notice.at.milliseconds }
        }
        for name in accounts {
            let books = await books(of: name).filter {
                linked.contains($0.originalTransactionID)
            }
            guard !books.isEmpty else { continue }
            let state = try await answer(to: name, books)
            try expectSafety(of: books, state)
            let isHeld = state.purchases.contains { $0.access?.state == .unconfirmed }
            if isHeld { findings.held += 1 }
            guard hasConverged || changed[name, default: 0] < fresh else {
                findings.tooFresh += 1
                continue
            }
            findings.compared += 1
            if !isHeld || hasConverged { try expectTruth(of: name, books, state) }
        }
    }
}

extension Faults {
    /// Nothing goes wrong any more.
    mutating func stop() {
        notifications.odds = [:]
        api.odds = [:]
        devices.odds = [:]
        notificationOutage = nil
        apiOutage = nil
    }
}
