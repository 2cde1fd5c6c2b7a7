import AppStoreFormats
import Eventually
import Synchronization
import Testing

@testable import Simulator

@Suite struct WorldTests {
    /// The books and the log of some eventful months, without the signatures.
    private func history(seed: UInt64) async throws -> [String] {
        let stage = try Stage { $0.seed = seed }
        let simulator = stage.simulator
        await simulator.setFaults { faults in
            faults.notifications.odds = [.drop: 0.1, .duplicate: 0.1, .reorder: 0.1, .delay: 0.1]
            faults.delay = Faults.Delay(seconds: 7200, isMaximum: true)
        }
        stage.letterBox.answer([PostResult(status: 200), PostResult(status: 500)])
        for (name, product) in [
            ("ben", "pro.monthly"), ("anna", "pro.yearly"), ("cleo", "plus.monthly"),
        ] {
            try await simulator.addDevice(account: name)
            try await stage.buy(product, on: "\(name)-1")
        }
        let cleo = try await simulator.groundTruth(of: "cleo").purchases[0].originalTransactionID
        try await simulator.change(cleo, .failBilling)
        try await stage.advance("P4M")
        var lines = await simulator.log.map(\.text)
        for name in ["anna", "ben", "cleo"] {
            lines.append(try await simulator.groundTruth(of: name).json.text)
        }
        return lines
    }

    @Test func `two worlds with the same seed have the same history`() async throws {
        let (one, other) = (try await history(seed: 7), try await history(seed: 7))
        #expect(one == other && one.count > 20)
    }

    @Test func `worlds of different seeds share no id`() async throws {
        var ids: Set<String> = []
        for seed in [1, 2, 699_999] as [UInt64] {
            let stage = try Stage { $0.seed = seed }
            try await stage.buy("pro.monthly")
            try await stage.advance("P2M")
            for letter in try await stage.letters() {
                let known = [
                    letter.transaction.transactionId, letter.transaction.webOrderLineItemId,
                    letter.notification.notificationUUID,
                ]
                for id in known.compactMap({ $0 }) { #expect(ids.insert(id).inserted) }
            }
        }
        #expect(ids.count == 27 && ids.filter { Int64($0) != nil }.allSatisfy { $0.count == 15 })
    }

    @Test func `the sandbox renews a subscription every five minutes, twelve times`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        try await stage.buy("pro.monthly")
        try await stage.advance("P1D")
        let story = try await stage.story()
        #expect(story.count == 14)
        #expect(story.filter { $0 == "DID_RENEW 1 pro.monthly" }.count == 12)
        #expect(story.last == "EXPIRED/VOLUNTARY 2 pro.monthly")
        let letters = try await stage.letters()
        #expect(letters[0].notification.data?.appAppleId == nil)
        #expect(letters[0].transaction.environment == .sandbox)
        #expect(try letters[12].transaction.expiresDate == moment("2026-01-10T21:05:00Z"))
        #expect(letters[11].renewal?.autoRenewStatus == .on)
        #expect(letters[12].renewal?.autoRenewStatus == .off)
    }

    @Test func `the production and the sandbox of a world are independent of each other`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.yearly")
        let sandbox = try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        try await stage.buy("pro.yearly", on: sandbox)
        let books = try await stage.simulator.groundTruth(of: "anna")
        #expect(books.purchases.map(\.environment) == [.production, .sandbox])
        #expect(books.purchases.map(\.state) == [.trial, .trial])
    }

    @Test func `a purchase on one device is listed on the account's other device`() async throws {
        let stage = try Stage()
        let bought = try await stage.buy("pro.monthly")
        #expect(try await stage.simulator.addDevice(account: "anna") == "anna-2")
        let restored = try await stage.simulator.restore(on: "anna-2")
        let payload = try decode(TransactionPayload.self, restored.signedTransactions[0])
        #expect(payload.transactionId == bought.transactionID)
        #expect(restored.signedRenewalInfos.count == 1)
    }

    @Test func `the ground truth shows each stage of a failing payment`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        let expected: [(String, TruePurchase.State, Bool, String)] = [
            ("2026-02-10T19:59:59.999Z", .paid, true, "2026-02-10T20:00:00Z"),
            ("2026-02-10T20:00:00Z", .grace, true, "2026-02-26T20:00:00Z"),
            ("2026-02-26T19:59:59.999Z", .grace, true, "2026-02-26T20:00:00Z"),
            ("2026-02-26T20:00:00Z", .retry, false, "2026-02-26T20:00:00Z"),
            ("2026-04-11T19:00:00Z", .expired, false, "2026-02-26T20:00:00Z"),
        ]
        for (time, state, isOpen, until) in expected {
            try await stage.advance(to: time)
            let truth = try await stage.truth()
            #expect(truth.state == state && truth.isOpen == isOpen, "at \(time)")
            #expect(try truth.until == moment(until), "at \(time)")
            #expect(truth.willRenew == (state != .expired), "at \(time)")
        }
    }

    @Test func `in the ground truth, access closes at a refund and opens again at the reversal`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        let refunded = try await stage.simulator.change(id, .refund()).purchase
        #expect(refunded.state == .refunded && !refunded.isOpen && refunded.isRevoked)
        #expect(try refunded.until == moment(Stage.noon))
        let restored = try await stage.simulator.change(id, .reverseRefund()).purchase
        #expect(restored.state == .paid && restored.isOpen && !restored.willRenew)
    }

    @Test func `renewals continue for a year even if no server receives the notifications`()
        async throws
    {
        let stage = try Stage()
        for number in 1...20 {
            try await stage.simulator.addDevice(account: "c\(number)")
            try await stage.buy("plus.monthly", on: "c\(number)-1")
        }
        try await stage.advance("P1Y")
        #expect(await stage.simulator.notifications.count == 260)
    }

    @Test func `each refusal has a code, and an unknown product's remedy names a known product`()
        async throws
    {
        let stage = try Stage { $0.quirks = [.alreadySubscribedRefused] }
        let bought = try await stage.buy("pro.monthly")
        let id = bought.originalTransactionID
        let refusals: [(String, () async throws -> Void)] = [
            ("unknown_product", { try await stage.buy("pro.weekly") }),
            ("already_subscribed", { try await stage.buy("pro.monthly") }),
            (
                "unknown_device",
                { try await stage.simulator.transactions(on: "zoe-1").first.map { _ in } }
            ),
            ("unknown_account", { _ = try await stage.simulator.groundTruth(of: "zoe") }),
            ("unknown_subscription", { try await stage.simulator.change("1", .cancel) }),
            (
                "unknown_transaction",
                { try await stage.simulator.change(transaction: "1", .refund()) }
            ),
            ("wrong_state", { try await stage.simulator.change(id, .resume) }),
            ("wrong_state", { try await stage.simulator.change(id, .reverseRefund()) }),
            ("bad_request", { try await stage.advance(to: "2025-01-01T00:00:00Z") }),
        ]
        for (code, refused) in refusals {
            await #expect(
                performing: { try await refused() },
                throws: { error in
                    (error as? SimulatorProblem)?.code == code
                })
        }
        let problem = await #expect(throws: SimulatorProblem.self) {
            try await stage.buy("pro.weekly")
        }
        #expect(problem?.remedy.contains("pro.yearly") == true)
    }

    @Test func `actions of concurrent callers run one at a time`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await withThrowingTaskGroup { group in
            for number in 1...10 {
                group.addTask {
                    let device = try await stage.simulator.addDevice(account: "c\(number)")
                    try await stage.buy("plus.monthly", on: device)
                    try await stage.advance("P1M")
                }
            }
            try await group.waitForAll()
        }
        let times = await stage.simulator.notifications.map(\.draft.at)
        #expect(times == times.sorted())
        // Each of the ten callers lets a month pass, in whatever order they act.
        let passed = stage.simulator.clock.now
        #expect(try passed == moment("2026-11-10T20:00:00Z"))
    }

    @Test func `the clock moves only after the server has finished its current work`()
        async throws
    {
        let clock = Mutex<VirtualClock?>(nil)
        let times = Mutex<[AppStoreDate?]>([])
        let simulator = AppStoreSimulator(
            SimulatorSettings(now: try moment(Stage.noon), shop: try ExampleShop.file()),
            authority: try Stage.authority.get(), post: { _, _ in PostResult(status: 200) },
            quiesce: {
                let now = clock.withLock { $0?.now }
                times.withLock { $0.append(now) }
            }, quiescesFirst: true)
        clock.withLock { $0 = simulator.clock }
        let (before, after) = (try moment(Stage.noon), try moment("2026-01-11T20:00:00Z"))
        try await simulator.advance(to: after)
        #expect(times.withLock { $0 } == [before, after])
        // This call does not move time, so the function is called only once.
        try await simulator.advance(to: after)
        #expect(times.withLock { $0 } == [before, after, after])
    }

    @Test func `a running clock processes events when they are due`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        try await stage.buy("pro.monthly")
        let running = Task { await stage.simulator.runClock() }
        try await stage.simulator.setRate(VirtualClock.rateMax)
        try await eventually("two notifications arrive") { stage.letterBox.count >= 2 }
        try await stage.simulator.setRate(0)
        let stopped = stage.simulator.clock.milliseconds
        running.cancel()
        await running.value
        #expect(stage.letterBox.count >= 2)
        #expect(stage.simulator.clock.milliseconds == stopped)
    }

    @Test
    func `if a test ends a subscription early, EXPIRED is sent even with expired_never_sent`()
        async throws
    {
        let stage = try Stage { $0.quirks = [.expiredNeverSent] }
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .expire)
        #expect(try await stage.story().last == "EXPIRED 2 pro.monthly")
        #expect(try await !stage.truth().isOpen)
    }

    @Test func `a period that is paid ahead cannot be ended before it begins`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .renewNow)
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.change(id, .expire)
        }
        #expect(try await stage.truth().isOpen)
    }

    @Test func `if all periods are refunded, the ground truth has the period that had begun`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .changeProduct("pro.monthly"))
        try await stage.simulator.change(id, .renewNow)
        try await stage.simulator.change(id, .refund(RefundOrder(), of: nil))
        try await stage.simulator.change(id, .refund(RefundOrder(), of: id))
        let truth = try await stage.truth()
        #expect(truth.state == .refunded)
        #expect(truth.productID == "pro.yearly")
    }

    @Test func `if a renewal charged ahead is refunded, the present period stays active`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .renewNow)
        try await stage.simulator.change(id, .refund(RefundOrder(), of: nil))
        #expect(try await stage.truth().isOpen)
        #expect(try await stage.story().last == "REFUND 1 pro.monthly")
        try await stage.advance("P1M")
        #expect(try await stage.truth().state == .refunded)
    }
}
