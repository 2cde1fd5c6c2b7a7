import AppStoreFormats
import Testing

@testable import Simulator

/// Offers of every kind and payment mode, for customers in every state: rows 1 to 4 and 36 to 40
/// of Apple's table.
@Suite struct OfferTests {
    enum Step: Sendable {
        case buy(String, String? = nil)
        case redeem(String, String? = nil)
        case winBack(String? = nil)
        case does(SubscriptionAct)
        case waits(String)
    }

    struct Turn: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// The notifications of each step except waiting: the line, then the offer and price of the
        /// transaction, then those of the next period.
        let told: [String]
        var rows: [LifecycleRow?]?
    }

    private static let lapsed: [Step] = [
        .buy("pro.monthly", "none"), .does(.cancel), .waits("P2M"),
    ]
    private static let inRetry: [Step] = [
        .buy("pro.monthly", "none"), .does(.failBilling), .waits("P60D"),
    ]

    static let turns = [
        Turn(
            testDescription: "1: a purchase at full price", steps: [.buy("pro.monthly", "none")],
            told: ["SUBSCRIBED/INITIAL_BUY 1 pro.monthly: 9990, then 9990"],
            rows: [.firstPurchase]),
        Turn(
            testDescription: "2, 5: a free trial", steps: [.buy("pro.monthly"), .waits("P1W")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 pro.monthly: 1 FREE_TRIAL P1W 0, then 9990",
                "DID_RENEW 1 pro.monthly: 9990, then 9990",
            ], rows: [.firstPurchaseTrial, .trialConverts]),
        Turn(
            testDescription: "3: an offer for two periods that is paid as you go",
            steps: [.buy("basic"), .waits("P2M")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 basic: 1 PAY_AS_YOU_GO P1M 1990,"
                    + " then 1 PAY_AS_YOU_GO P1M 1990",
                "DID_RENEW 1 basic: 1 PAY_AS_YOU_GO P1M 1990, then 4990",
                "DID_RENEW 1 basic: 4990, then 4990",
            ], rows: [.firstPurchasePayAsYouGo, .renewal, .renewal]),
        Turn(
            testDescription: "4: an offer that is paid up front",
            steps: [.buy("pro.yearly"), .waits("P6M")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 pro.yearly: 1 PAY_UP_FRONT P6M 29990, then 59990",
                "DID_RENEW 1 pro.yearly: 59990, then 59990",
            ], rows: [.firstPurchasePayUpFront, .renewal]),
        Turn(
            testDescription: "36: a code at the first purchase replaces the trial",
            steps: [.buy("pro.monthly", "NEWCAT"), .waits("P2M")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 pro.monthly: 3 NEWCAT PAY_AS_YOU_GO P1M 990,"
                    + " then 3 NEWCAT PAY_AS_YOU_GO P1M 990",
                "DID_RENEW 1 pro.monthly: 3 NEWCAT PAY_AS_YOU_GO P1M 990, then 9990",
                "DID_RENEW 1 pro.monthly: 9990, then 9990",
            ], rows: [.offerCodeFirstPurchase, .renewal, .renewal]),
        Turn(
            testDescription: "36: a stackable code follows the trial",
            steps: [.buy("pro.monthly", "ANYCAT"), .waits("P6W")],
            told: [
                "SUBSCRIBED/INITIAL_BUY 1 pro.monthly: 1 FREE_TRIAL P1W 0,"
                    + " then 3 ANYCAT FREE_TRIAL P1M 0",
                "DID_RENEW 1 pro.monthly: 3 ANYCAT FREE_TRIAL P1M 0, then 9990",
                "DID_RENEW 1 pro.monthly: 9990, then 9990",
            ]),
        Turn(
            testDescription: "37: a promotional offer on an active subscription",
            steps: [
                .buy("pro.monthly", "none"), .waits("P1W"), .buy("pro.monthly", "promo.half"),
                .waits("P3M"),
            ],
            told: [
                "OFFER_REDEEMED 1 pro.monthly: 9990, then 2 promo.half PAY_AS_YOU_GO P1M 4990",
                "DID_RENEW 1 pro.monthly: 2 promo.half PAY_AS_YOU_GO P1M 4990,"
                    + " then 2 promo.half PAY_AS_YOU_GO P1M 4990",
                "DID_RENEW 1 pro.monthly: 2 promo.half PAY_AS_YOU_GO P1M 4990, then 9990",
                "DID_RENEW 1 pro.monthly: 9990, then 9990",
            ], rows: [.offerOnActive, .renewal, .renewal, .renewal]),
        Turn(
            testDescription: "37: three months are paid up front at the next billing",
            steps: [
                .buy("pro.monthly", "none"), .buy("pro.monthly", "promo.front"), .waits("P4M"),
            ],
            told: [
                "OFFER_REDEEMED 1 pro.monthly: 9990, then 2 promo.front PAY_UP_FRONT P3M 19990",
                "DID_RENEW 1 pro.monthly: 2 promo.front PAY_UP_FRONT P3M 19990, then 9990",
                "DID_RENEW 1 pro.monthly: 9990, then 9990",
            ]),
        Turn(
            testDescription: "37: a code on an active subscription switches renewal on again",
            steps: [
                .buy("pro.monthly", "none"), .does(.cancel), .redeem("ANYCAT"), .waits("P1M"),
            ],
            told: [
                "OFFER_REDEEMED 1 pro.monthly: 9990, then 3 ANYCAT FREE_TRIAL P1M 0",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED 1 pro.monthly: 9990,"
                    + " then 3 ANYCAT FREE_TRIAL P1M 0",
                "DID_RENEW 1 pro.monthly: 3 ANYCAT FREE_TRIAL P1M 0, then 9990",
            ], rows: [.offerOnActive, .renewalOn, .renewal]),
        Turn(
            testDescription: "38: an offer for an upgrade takes effect at once",
            steps: [.buy("basic", "none"), .waits("P1W"), .buy("pro.monthly", "promo.half")],
            told: [
                "OFFER_REDEEMED/UPGRADE 1 pro.monthly: 2 promo.half PAY_AS_YOU_GO P1M 4990,"
                    + " then 2 promo.half PAY_AS_YOU_GO P1M 4990"
            ], rows: [.offerUpgrade]),
        Turn(
            testDescription: "39, 20: an offer for a downgrade takes effect at the renewal",
            steps: [.buy("pro.monthly", "none"), .buy("basic", "promo.basic"), .waits("P2M")],
            told: [
                "OFFER_REDEEMED/DOWNGRADE 1 pro.monthly: 9990,"
                    + " then 2 promo.basic PAY_AS_YOU_GO P1M 990",
                "DID_RENEW 1 basic: 2 promo.basic PAY_AS_YOU_GO P1M 990, then 4990",
                "DID_RENEW 1 basic: 4990, then 4990",
            ], rows: [.offerDowngrade, .downgradeTookEffect, .renewal]),
        Turn(
            testDescription: "40: a lapsed customer takes a promotional offer",
            steps: lapsed + [.buy("pro.monthly", "promo.free")],
            told: [
                "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly: 2 promo.free FREE_TRIAL P1M 0, then 9990"
            ], rows: [.offerAfterLapse]),
        Turn(
            testDescription: "40: a lapsed customer redeems a code",
            steps: lapsed + [.redeem("OLDCAT")],
            told: ["SUBSCRIBED/RESUBSCRIBE 1 pro.monthly: 3 OLDCAT FREE_TRIAL P1M 0, then 9990"],
            rows: [.offerAfterLapse]),
        Turn(
            testDescription: "40: a lapsed customer is won back", steps: lapsed + [.winBack()],
            told: [
                "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly: 4 comeback PAY_AS_YOU_GO P1M 2990, then 9990"
            ], rows: [.offerAfterLapse]),
        Turn(
            testDescription: "a customer in billing retry subscribes again with an offer",
            steps: inRetry + [.buy("pro.monthly", "promo.free")],
            told: [
                "SUBSCRIBED/RESUBSCRIBE 1 pro.monthly: 2 promo.free FREE_TRIAL P1M 0, then 9990"
            ]),
        Turn(
            testDescription: "a promotional offer replaces the rest of the introductory offer",
            steps: [.buy("basic"), .buy("basic", "promo.basic"), .waits("P2M")],
            told: [
                "OFFER_REDEEMED 1 basic: 1 PAY_AS_YOU_GO P1M 1990,"
                    + " then 2 promo.basic PAY_AS_YOU_GO P1M 990",
                "DID_RENEW 1 basic: 2 promo.basic PAY_AS_YOU_GO P1M 990, then 4990",
                "DID_RENEW 1 basic: 4990, then 4990",
            ]),
        Turn(
            testDescription: "an offer for the next billing does not apply to another product",
            steps: [
                .buy("pro.monthly", "none"), .buy("pro.monthly", "promo.half"),
                .does(.changeProduct("basic")), .waits("P1M"),
            ],
            told: [
                "DID_CHANGE_RENEWAL_PREF/DOWNGRADE 1 pro.monthly: 9990, then 4990",
                "DID_RENEW 1 basic: 4990, then 4990",
            ]),
    ]

    @Test(arguments: turns)
    func `an offer causes the notifications that Apple documents`(turn: Turn) async throws {
        let stage = try Stage(shop: try CatShop.file())
        var before = 0
        for step in turn.steps {
            if case .waits = step {} else { before = await stage.simulator.notifications.count }
            try await play(step, stage)
        }
        let letters = try await stage.letters().dropFirst(before)
        #expect(letters.map(\.offerLine) == turn.told)
        guard let rows = turn.rows else { return }
        #expect(await stage.simulator.notifications.dropFirst(before).map(\.draft.row) == rows)
    }

    private func play(_ step: Step, _ stage: Stage) async throws {
        switch step {
        case .buy(let product, let offer): try await stage.buy(product, offer: offer)
        case .redeem(let offer, let product):
            let id = try await stage.truth().originalTransactionID
            try await stage.simulator.change(
                id, .redeemCode(offer: offer, productID: product))
        case .winBack(let offer):
            let id = try await stage.truth().originalTransactionID
            try await stage.simulator.change(id, .winBack(offer: offer))
        case .does(let act):
            let id = try await stage.truth().originalTransactionID
            try await stage.simulator.change(id, act)
        case .waits(let duration): try await stage.advance(duration)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        let code: String
    }

    static let refusals = [
        Refusal(
            testDescription: "a promotional offer for a new customer",
            steps: [.buy("pro.monthly", "promo.free")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a win-back offer for a new customer",
            steps: [.buy("pro.monthly", "comeback")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a win-back offer for a subscriber",
            steps: [.buy("pro.monthly"), .winBack()], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a win-back offer that is switched off",
            steps: lapsed + [.winBack("never")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a code for new customers, redeemed by a subscriber",
            steps: [.buy("pro.monthly"), .redeem("NEWCAT")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a code for former customers, redeemed by a new customer",
            steps: [.buy("pro.monthly", "OLDCAT")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "a code that is redeemed a second time",
            steps: [.buy("pro.monthly", "ANYCAT"), .redeem("ANYCAT")], code: "offer_not_eligible"),
        Refusal(
            testDescription: "an offer of another product", steps: [.buy("basic", "promo.free")],
            code: "unknown_offer"),
        Refusal(
            testDescription: "a promotional offer in place of a code",
            steps: [.buy("pro.monthly"), .redeem("promo.free")], code: "unknown_offer"),
        Refusal(
            testDescription: "an offer for a one-time purchase", steps: [.buy("gem", "ANYCAT")],
            code: "unknown_offer"),
    ]

    @Test(arguments: refusals)
    func `an offer is refused if the customer is not eligible for the offer`(
        refusal: Refusal
    ) async throws {
        let stage = try Stage(shop: try CatShop.file())
        for step in refusal.steps.dropLast() { try await play(step, stage) }
        let last = try require(refusal.steps.last, "no step")
        await #expect {
            try await play(last, stage)
        } throws: { ($0 as? SimulatorProblem)?.code == refusal.code }
    }

    @Test func `a customer gets one introductory offer per group, whichever product had it`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        let id = try await stage.buy("basic").originalTransactionID
        try await stage.simulator.change(id, .refund())
        try await stage.buy("pro.monthly")
        #expect(try await stage.letters().last?.transaction.offerType == nil)
    }

    @Test func `with monthly billing, the trial comes before the commitment`() async throws {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna")
        var order = PurchaseOrder("pro.yearly")
        order.billingPlan = .monthly
        try await stage.simulator.purchase(order, on: "anna-1")
        try await stage.advance("P2M")
        let letters = try await stage.letters()
        #expect(
            letters.map(\.offerLine) == [
                "SUBSCRIBED/INITIAL_BUY 1 pro.yearly: 1 FREE_TRIAL P1M 0, then 5990",
                "DID_RENEW 1 pro.yearly: 5990, then 5990",
                "DID_RENEW 1 pro.yearly: 5990, then 5990",
            ])
        let months = letters.map { $0.transaction.commitmentInfo?.billingPeriodNumber }
        #expect(months == [nil, 1, 2])
        await #expect(throws: SimulatorProblem.self) {
            try await stage.buy("pro.yearly", offer: "promo.year")
        }
    }

    @Test func `the simulator knows which offers a customer is eligible for`() async throws {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.buy("pro.monthly")
        let world = await stage.simulator.world
        let product = try world.product("pro.monthly")
        let terms = try require(product.subscription, "no subscription")
        let anna = Account.Key(name: "anna", environment: .production)
        let may = (terms.introductoryOffers + terms.namedOffers).filter {
            world.refusal(of: $0, product, to: anna) == nil
        }
        #expect(may.map(\.id) == ["promo.free", "promo.half", "promo.front", "ANYCAT"])
    }
}

extension Letter {
    /// The line, then the offer and price of the transaction, then those of the next period.
    var offerLine: String {
        func words(_ parts: [String?]) -> String { parts.compactMap { $0 }.joined(separator: " ") }
        let now = words([
            transaction.offerType?.description, transaction.offerIdentifier,
            transaction.offerDiscountType?.description, transaction.offerPeriod,
            transaction.price.map { "\($0)" },
        ])
        guard let renewal else { return "\(line): \(now)" }
        let next = words([
            renewal.offerType?.description, renewal.offerIdentifier,
            renewal.offerDiscountType?.description, renewal.offerPeriod,
            renewal.renewalPrice.map { "\($0)" },
        ])
        return "\(line): \(now), then \(next)"
    }
}
