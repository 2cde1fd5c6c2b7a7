import PerennialContract

@testable import Dashboard

extension Samples {
    // MARK: - Events

    private func event(
        _ number: Int64, _ type: EventType, _ customer: String?, _ product: String?,
        _ before: AccessState?, _ after: AccessState?, _ money: Money? = nil,
        at time: String = "08:58:40", known: String? = nil, document: String? = "9f2c41bb01",
        author: String? = nil
    ) -> Event {
        func condition(_ state: AccessState?) -> PurchaseCondition? {
            state.map {
                PurchaseCondition(
                    productID: text("pro.monthly"), active: $0 == .paid || $0 == .trial,
                    state: $0, until: at("2026-12-24T09:00:00Z"), willRenew: true)
            }
        }
        return Event(
            id: text("evt_\(number)"), sequence: number, type: type,
            at: at("2026-11-24T\(time)Z"), knownAt: at("2026-11-24T\(known ?? time)Z"),
            customerID: customer.map(text), productID: product.map(text), before: condition(before),
            after: condition(after), money: money,
            cause: .init(
                kind: document != nil ? "document" : "time", documentID: document.map(text),
                author: author.map {
                    .init(keyName: text("server"), keyDigits: "ab12", actor: text($0))
                }))
    }

    var eventList: [Event] {
        var debited = event(
            40_209, .walletDebited, "anna", nil, nil, nil, at: "07:41:10", document: nil,
            author: "mira")
        debited.wallet = WalletMovement(
            currency: text("seeds"), amount: -30, before: 65, after: 35, reason: text("an oak"))
        var away = event(
            40_207, .movedAway, "usr_31224", "guide", .paid, .paid, at: "07:22:17", document: nil,
            author: "mira")
        away.otherCustomerID = text("usr_55180")
        away.why = text("support")
        return [
            event(40_218, .billingFailed, "cleo", "premium.monthly", .paid, .grace, at: "08:59:12"),
            event(40_217, .trialStarted, "usr_88213", "pro.yearly", nil, .trial),
            event(
                40_216, .renewed, "usr_41907", "pro.monthly", .paid, .paid, money("10.99", "EUR"),
                at: "08:57:03"),
            event(
                40_215, .resubscribed, "dawn-03", "plus.monthly", .expired, .paid, money("4.99"),
                at: "08:55:31"),
            event(
                40_214, .refunded, "ben", "pro.monthly", .paid, .refunded, money("-9.99"),
                at: "08:51:19"),
            event(
                40_210, .refunded, "usr_21190", "pro.monthly", .paid, .paid, money("-9.99"),
                at: "04:58:44", known: "08:10:44"),
            debited, away,
            event(40_206, .init(rawValue: text("new_type")), nil, "guide", nil, nil, document: nil),
        ]
    }

    var events: EventsPage {
        EventsPage(
            events: eventList,
            day: .init(
                events: 412, came: [money("1204.60"), money("310.00", "EUR")],
                wentBack: [money("39.96")], refunds: 4, late: 3), olderCursor: text("40200"))
    }

    var filteredEvents: EventsPage {
        EventsPage(
            filter: .init(
                customerID: text("clea"), what: .refunds, from: text("2026-11-24"), to: text("")),
            events: [])
    }

    // MARK: - Webhooks

    private var hours: [Strip.Hour] {
        (0..<48).map { $0 < 43 ? .init(good: 20 + $0 * 7 % 31) : .init(good: 0, bad: 30 + $0) }
    }

    func webhook(_ url: String, failing: Bool) -> Webhook {
        Webhook(
            webhookID: text(url), url: text("https://\(url)"),
            types: failing ? nil : [.init(rawValue: text("renewed"))],
            products: failing ? nil : [text("pro.monthly")],
            environments: failing ? nil : [.init(rawValue: text("production"))],
            format: failing ? .perennial : .init(rawValue: text("revenuecat")),
            hasAuthorization: true, isConfigured: false, isPaused: false,
            createdAt: at("2026-10-02T09:00:00Z"),
            failingSince: failing ? at("2026-11-24T04:02:00Z") : nil)
    }

    var downFigures: WebhookFigures {
        WebhookFigures(
            hours: hours, waiting: 214, waitingCustomers: 188,
            oldestWaiting: at("2026-11-24T04:02:00Z"), lastStatus: 503,
            lastTrouble: text("after 1.2 s"), nextAttemptAt: at("2026-11-24T09:04:00Z"),
            triedUntil: at("2026-11-27T04:02:00Z"))
    }

    var webhooks: WebhooksPage {
        WebhooksPage(webhooks: [
            .init(webhook("crm.example.com", failing: true), downFigures),
            .init(
                webhook("old.example.com", failing: true),
                WebhookFigures(
                    hours: [], waiting: 2_000, waitingIsMore: true, delivered: 12,
                    deliveredIsMore: true)),
            .init(
                webhook("api.birds.example", failing: false),
                WebhookFigures(hours: hours.map { .init(good: $0.good + 3) }, delivered: 1_916)),
        ])
    }

    private func delivery(_ number: Int64?, _ state: WebhookDelivery.State) -> WebhookDelivery {
        WebhookDelivery(
            deliveryID: text("evt_\(number ?? 0)"), type: text(number == nil ? "test" : "refunded"),
            sequence: number, state: state, createdAt: at("2026-11-24T08:51:19Z"), attempts: 7,
            lastAttemptAt: at("2026-11-24T08:52:31Z"), lastStatus: 503,
            lastTrouble: text("upstream connect error"),
            nextAttemptAt: state == .waiting ? at("2026-11-24T09:04:00Z") : nil,
            endedAt: state == .waiting ? nil : at("2026-11-24T08:53:00Z"))
    }

    var openedWebhook: WebhookPage {
        var opened = delivery(40_214, .waiting)
        opened.log = [
            WebhookAttempt(
                at: at("2026-11-24T08:51:31Z"), milliseconds: 10_000,
                trouble: text("silence for 10 s")),
            WebhookAttempt(
                at: at("2026-11-24T08:52:31Z"), milliseconds: 1_204, status: 503,
                answer: text("upstream connect error")),
        ]
        var webhook = webhook("crm.example.com", failing: true)
        webhook.secret = text("whsec_abcdef")
        let rest = ReplayedPart.Rest(
            fields: [.init("from", text("2026-11-23T09:00")), .init("after", text("40213"))],
            event: 40_213, knownAt: at("2026-11-24T08:50:02Z"))
        return WebhookPage(
            webhook: webhook, figures: downFigures,
            deliveries: WebhookDeliveryList(
                items: [
                    delivery(40_214, .waiting), delivery(40_203, .failed),
                    delivery(40_188, .delivered), delivery(nil, .init(rawValue: text("odd"))),
                ], nextCursor: text("d1")), opened: opened, secretMark: text("0a1b"),
            replayed: ReplayedPart(count: 497, rest: rest))
    }

    // MARK: - Overview

    private static let months = [
        "Nov 25", "Dec", "Jan 26", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
        "Nov",
    ]
    private static let mrr: [Int64] = [
        8_214_160, 8_803_560, 10_074_200, 10_414_400, 10_802_450, 11_742_610, 12_741_550,
        13_215_360, 13_626_190, 14_159_620, 14_886_770, 15_653_940, 16_288_590,
    ]

    var mrrChart: LineChart {
        LineChart(
            unit: .money(currency: text("USD")), name: text("MRR"),
            points: Self.mrr.indices.map { index in
                let isRestated = [7, 8, 9, 11].contains(index)
                return .init(
                    label: text(Self.months[index]), name: text(Self.months[index] + " 2026"),
                    value: Self.mrr[index],
                    then: index == 12 ? nil : Self.mrr[index] + (isRestated ? 9_990 : 0),
                    learned: isRestated ? text("1 refund, reported 12 Nov") : nil,
                    before: Self.mrr[index] * 6 / 10, isOver: index < 12,
                    purchases: .chartPurchases("mrr").with("period", text("2026-11")))
            })
    }

    var movementSum: SumPicture {
        SumPicture(
            unit: .money(currency: text("USD")), name: text("MRR movement of November 2026 so far"),
            opening: 15_653_940, openingRemark: text("1 November"),
            parts: [
                .init(
                    text("New"), remark: text("first payments"), .green, value: 1_318_960,
                    purchases: .chartPurchases("mrr-movement")),
                .init(text("Expansion"), remark: text("upgrades"), .paleGreen, value: 104_900),
                .init(text("Reactivation"), remark: text("came back"), .blue, value: 119_880),
                .init(text("Contraction"), remark: text("downgrades"), .amber, value: -64_940),
                .init(text("Churn"), remark: text("ended"), .brick, value: -844_150),
            ], closing: 16_288_590, closingName: text("Now"))
    }

    var overview: OverviewPage {
        let shape = Sparkline(Self.mrr)
        let dollars = ChartUnit.money(currency: text("USD"))
        func tile(
            _ name: String, _ value: Int64, _ unit: ChartUnit, _ change: Int64?, _ remark: String,
            isAtRisk: Bool = false
        ) -> OverviewPage.Tile {
            .init(
                text(name), value: value, unit: unit, change: change, remark: text(remark),
                isAtRisk: isAtRisk, shape: shape, path: .chart("mrr"))
        }
        return OverviewPage(
            conversion: text(
                "Money is in US dollars, converted at the rate of each purchase’s day."),
            warnings: [
                Notice(
                    .warning, text("crm.example.com has accepted nothing for 5 hours."),
                    text("214 deliveries wait; they are tried until Friday. Nothing is lost."),
                    link: .init(text("Look at the endpoint"), .webhooks))
            ],
            tiles: [
                tile("MRR", 16_288_590, dollars, 634_000, "since 1 Nov"),
                tile("Active subscriptions", 2_235, .count, 87, "in 28 days"),
                tile("Trials running", 143, .count, nil, "37.8 % of them convert"),
                tile("Revenue, 28 days", 18_291_000, dollars, nil, "after $612 of refunds"),
                tile("Refund rate", 32, .share, nil, "4 weeks"),
                tile("At risk", 497_000, dollars, nil, "61 payments failed", isAtRisk: true),
            ], chart: mrrChart,
            chartFinding: text("From $8,214 in November 2025 to $16,288 now."),
            movement: movementSum, events: Array(eventList.prefix(6)),
            left: [
                .init(
                    customerID: text("usr_20418"), productID: text("pro.yearly"),
                    remark: text("after 1 year, switched off in March")),
                .init(
                    customerID: text("usr_71530"), productID: text("pro.monthly"),
                    remark: text("after 7 months, cancelled")),
            ], leftTotal: 11)
    }
}
