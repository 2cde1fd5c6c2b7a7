import AppStoreFormats
import Testing

@testable import Simulator

/// Family Sharing: rows 43, 44 and 48, and members' purchases that follow the purchaser's.
@Suite struct FamilyTests {
    /// Anna buys; ben and cleo are in her family.
    private func household(_ members: [String] = ["anna", "ben", "cleo"]) async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        for name in members {
            try await stage.simulator.addDevice(account: name, family: "cats")
        }
        return stage
    }

    /// The notifications since an earlier count, with their accounts.
    private func told(_ stage: Stage, since count: Int = 0) async throws -> [String] {
        try await stage.simulator.notifications.dropFirst(count).map { sent in
            "\(sent.draft.account ?? "?"): \(try Letter(sent.signedPayload).line)"
        }
    }

    struct Chapter: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [OfferTests.Step]
        /// The notifications that ben and cleo both get after the first purchase.
        let members: [String]
        var rows: [LifecycleRow] = []
    }

    static let chapters = [
        Chapter(
            testDescription: "renewal", steps: [.waits("P1M")], members: ["DID_RENEW 1 pro.monthly"]
        ),
        Chapter(
            testDescription: "renewal off, on and off, and the end",
            steps: [.does(.cancel), .does(.resume), .does(.cancel), .waits("P1M")],
            members: [
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED 1 pro.monthly",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED 1 pro.monthly",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED 1 pro.monthly",
                "EXPIRED/VOLUNTARY 2 pro.monthly",
            ]),
        Chapter(
            testDescription: "grace, retry and recovery",
            steps: [.does(.failBilling), .waits("P50D"), .does(.recoverBilling)],
            members: [
                "DID_FAIL_TO_RENEW/GRACE_PERIOD 4 pro.monthly",
                "GRACE_PERIOD_EXPIRED 3 pro.monthly", "DID_RENEW/BILLING_RECOVERY 1 pro.monthly",
            ]),
        Chapter(
            testDescription: "44: the purchaser's refund, and its reversal",
            steps: [.does(.refund()), .does(.reverseRefund())],
            members: ["REVOKE 5 pro.monthly", "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly"],
            rows: [.familySharingEnded, .familySharingBegan]),
        Chapter(
            testDescription: "44: a change to a product that is not shared",
            steps: [.does(.changeProduct("pro.yearly")), .waits("P1M")],
            members: [
                "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro.monthly", "REVOKE 5 pro.monthly",
            ]),
        Chapter(
            testDescription: "the purchaser comes back",
            steps: [.does(.cancel), .waits("P2M"), .buy("pro.monthly", "none")],
            members: [
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED 1 pro.monthly",
                "EXPIRED/VOLUNTARY 2 pro.monthly", "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly",
            ]),
    ]

    @Test(arguments: chapters)
    func `family members share each change of the purchase`(chapter: Chapter) async throws {
        let stage = try await household()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        #expect(
            try await told(stage) == [
                "anna: SUBSCRIBED/INITIAL_BUY 1 pro.monthly",
                "ben: SUBSCRIBED/INITIAL_BUY 1 pro.monthly",
                "cleo: SUBSCRIBED/INITIAL_BUY 1 pro.monthly",
            ])
        for step in chapter.steps {
            switch step {
            case .does(let act): try await stage.simulator.change(id, act)
            case .waits(let duration): try await stage.advance(duration)
            case .buy(let product, let offer): try await stage.buy(product, offer: offer)
            case .redeem, .winBack: break
            }
        }
        let told = try await told(stage, since: 3)
        for name in ["ben", "cleo"] {
            #expect(
                told.filter { $0.hasPrefix(name) } == chapter.members.map { "\(name): \($0)" })
        }
        guard !chapter.rows.isEmpty else { return }
        let rows = await stage.simulator.notifications.dropFirst(3).filter {
            $0.draft.account == "ben"
        }.map(\.draft.row)
        #expect(rows == chapter.rows)
    }

    @Test func `a family member has a separate transaction, which is marked as shared`()
        async throws
    {
        let stage = try await household()
        try await stage.buy("pro.monthly", offer: "none")
        let letters = try await stage.letters()
        let (annas, bens) = (letters[0].transaction, letters[1].transaction)
        #expect(annas.inAppOwnershipType == .purchased && bens.inAppOwnershipType == .familyShared)
        #expect(bens.transactionId == bens.originalTransactionId)
        #expect(Set(letters.map(\.transaction.originalTransactionId)).count == 3)
        #expect(Set(letters.map(\.transaction.webOrderLineItemId)).count == 3)
        #expect(Set(letters.map(\.transaction.appTransactionId)).count == 3)
        #expect(annas.expiresDate == bens.expiresDate)
        #expect(await stage.simulator.notifications[1].draft.row == .familySharingBegan)
        try await stage.advance("P1M")
        let renewed = try require(try await stage.letters().last?.transaction, "no renewal")
        #expect(renewed.inAppOwnershipType == .familyShared)
        #expect(renewed.purchaseDate == bens.expiresDate)
    }

    @Test func `a family member's purchase keeps its original date through renewals and a return`()
        async throws
    {
        let stage = try await household(["anna", "ben"])
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.advance("P1M")
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P2M")
        try await stage.buy("pro.monthly", offer: "none")
        let signed = try await stage.simulator.transactions(on: "ben-1")
        let bens = try signed.map { try decode(TransactionPayload.self, $0) }
        #expect(bens.count == 3)
        let noon = try moment(Stage.noon)
        #expect(bens.allSatisfy { $0.originalPurchaseDate == noon })
    }

    @Test func `a family member's subscription starts on the date when the member joined`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna", family: "cats")
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.advance("P10D")
        try await stage.simulator.addDevice(account: "ben", family: "cats")
        func bens() async throws -> (start: AppStoreDate?, transaction: TransactionPayload) {
            let sent = await stage.simulator.notifications.last { $0.draft.account == "ben" }
            let letter = try Letter(require(sent, "nothing about ben").signedPayload)
            return (letter.renewal?.recentSubscriptionStartDate, letter.transaction)
        }
        let joined = try moment("2026-01-20T20:00:00Z")
        #expect(try await bens().transaction.originalPurchaseDate == joined)
        #expect(try await bens().start == joined)
        try await stage.advance("P1M")
        #expect(try await bens().transaction.transactionReason == .renewal)
        #expect(try await bens().start == joined)
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P4M")
        try await stage.buy("pro.monthly", offer: "none")
        let again = try await bens()
        #expect(again.transaction.originalPurchaseDate == joined)
        #expect(again.start == again.transaction.purchaseDate)
    }

    @Test func `a family member's ground truth equals the purchaser's, without the money`()
        async throws
    {
        let stage = try await household()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        for (wait, act) in [("P1D", SubscriptionAct.failBilling), ("P50D", .recoverBilling)] {
            try await stage.advance(wait)
            try await stage.simulator.change(id, act)
            let anna = try await stage.simulator.groundTruth(of: "anna").purchases[0]
            let ben = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            #expect(anna.isOpen == ben.isOpen && anna.state == ben.state)
            #expect(anna.until == ben.until && anna.willRenew == ben.willRenew)
            #expect(ben.ownership == .familyShared && ben.charges.isEmpty)
            #expect(!anna.charges.isEmpty)
        }
        let family = try await stage.simulator.groundTruth(of: "ben").family
        #expect(family == TrueFamily(name: "cats", members: ["anna", "ben", "cleo"]))
    }

    @Test func `a family member who joins later gets the shared products from that day on`()
        async throws
    {
        let stage = try await household(["anna"])
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.buy("book")
        try await stage.advance("P10D")
        try await stage.simulator.addDevice(account: "dora")
        let before = await stage.simulator.notifications.count
        try await stage.simulator.changeFamily(
            "cats", .join, account: "dora", in: .production)
        #expect(
            try await told(stage, since: before) == [
                "dora: SUBSCRIBED/INITIAL_BUY 1 pro.monthly", "dora: ONE_TIME_CHARGE book",
            ])
        let shared = try await stage.letters()[before].transaction
        #expect(shared.purchaseDate == stage.simulator.clock.now)
        try await stage.simulator.changeFamily(
            "cats", .leave, account: "dora", in: .production)
        #expect(
            try await told(stage, since: before + 2) == [
                "dora: REVOKE 5 pro.monthly", "dora: REVOKE book",
            ])
        let revoked = try await stage.letters()[before + 2].transaction
        #expect(revoked.revocationType == .familyRevoke)
        #expect(revoked.revocationDate == stage.simulator.clock.now)
    }

    @Test
    func `rows 48 and 44 of Apple's table: a non-consumable is shared, and a refund revokes it`()
        async throws
    {
        let stage = try await household(["anna", "ben"])
        let id = try await stage.buy("book").transactionID
        try await stage.simulator.change(transaction: id, .refund())
        #expect(
            try await told(stage) == [
                "anna: ONE_TIME_CHARGE book", "ben: ONE_TIME_CHARGE book", "anna: REFUND book",
                "ben: REVOKE book",
            ])
        let rows = await stage.simulator.notifications.map(\.draft.row)
        #expect(
            rows == [
                .oneTimePurchase, .familyOneTimePurchase, .oneTimeRefund, .familySharingEnded,
            ])
        #expect(try await stage.simulator.groundTruth(of: "ben").purchases[0].isOpen == false)
    }

    @Test
    func `row 44 of Apple's table: sharing stops for all members, or only for the named member`()
        async throws
    {
        let stage = try await household()
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        let bens = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            .originalTransactionID
        try await stage.simulator.stopSharing(bens)
        #expect(try await told(stage, since: 3) == ["ben: REVOKE 5 pro.monthly"])
        try await stage.simulator.stopSharing(id)
        #expect(try await told(stage, since: 4) == ["cleo: REVOKE 5 pro.monthly"])
        try await stage.advance("P1M")
        #expect(try await told(stage, since: 5) == ["anna: DID_RENEW 1 pro.monthly"])
    }

    @Test func `consumables, passes and products not marked as shareable are not shared`()
        async throws
    {
        let stage = try await household(["anna", "ben"])
        for product in ["gem", "pass", "basic"] { try await stage.buy(product, offer: "none") }
        #expect(try await told(stage).filter { $0.hasPrefix("ben") } == [])
    }

    @Test func `a family member can have a separate subscription beside the shared one`()
        async throws
    {
        let stage = try await household(["anna", "ben"])
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.buy("basic", offer: "none", on: "ben-1")
        let bens = try await stage.simulator.groundTruth(of: "ben").purchases
        #expect(Set(bens.map(\.productID)) == ["pro.monthly", "basic"])
        #expect(bens.allSatisfy { $0.isOpen })
        #expect(try await stage.simulator.statuses(on: "ben-1").count == 2)
    }

    @Test func `a family has six members, and nobody is in two families`() async throws {
        let names = ["anna", "ben", "cleo", "dora", "emil", "fay"]
        let stage = try await household(names)
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.addDevice(account: "gus", family: "cats")
        }
        await #expect(throws: SimulatorProblem.self) {
            try await stage.simulator.addDevice(account: "anna", family: "dogs")
        }
        try await stage.buy("pro.monthly", offer: "none")
        #expect(await stage.simulator.notifications.count == names.count)
    }

    @Test func `a shared subscription can be changed only by the purchaser's id`() async throws {
        let stage = try await household(["anna", "ben"])
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        let bens = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            .originalTransactionID
        for act in [SubscriptionAct.cancel, .refund(), .expire] {
            let problem = await #expect(throws: SimulatorProblem.self) {
                try await stage.simulator.change(bens, act)
            }
            #expect(problem?.remedy.contains(id) == true)
        }
    }

    @Test func `families in the settings of a reset are formed with their devices`() async throws {
        let stage = try Stage(shop: try CatShop.file()) {
            $0.rules.families = ["cats": ["anna", "ben"]]
        }
        for name in ["anna", "ben", "cleo"] { try await stage.simulator.addDevice(account: name) }
        try await stage.buy("book")
        #expect(
            try await told(stage) == ["anna: ONE_TIME_CHARGE book", "ben: ONE_TIME_CHARGE book"])
    }

    @Test
    func `if the next period is paid ahead, a new member gets the present and the next period`()
        async throws
    {
        let stage = try await household(["anna"])
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .renewNow)
        try await stage.simulator.addDevice(account: "ben", family: "cats")
        try await stage.advance("P1D")
        #expect(
            try await told(stage, since: 2) == [
                "ben: SUBSCRIBED/INITIAL_BUY 1 pro.monthly", "ben: DID_RENEW 1 pro.monthly",
            ])
        let anna = try await stage.truth()
        let ben = try require(
            try await stage.simulator.groundTruth(of: "ben").purchases.first, "ben has nothing")
        #expect(ben.isOpen && ben.until == anna.until)
        #expect(ben.period?.upperBound == anna.period?.upperBound)
    }

    @Test func `nobody joins a family's subscription while the purchaser's payment fails`()
        async throws
    {
        let stage = try await household(["anna"])
        let id = try await stage.buy("pro.monthly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P34D")
        let count = try await told(stage).count
        try await stage.simulator.addDevice(account: "ben", family: "cats")
        try await stage.advance("P1D")
        #expect(try await stage.simulator.groundTruth(of: "ben").purchases.isEmpty)
        try await stage.simulator.change(id, .recoverBilling)
        try await stage.advance("P1D")
        #expect(
            try await told(stage, since: count) == [
                "anna: DID_RENEW/BILLING_RECOVERY 1 pro.monthly",
                "ben: SUBSCRIBED/INITIAL_BUY 1 pro.monthly",
            ])
    }
}
