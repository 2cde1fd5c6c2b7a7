import PerennialContract

@testable import Dashboard

/// Values of every page. Each text from outside is passed through `text`, so that a test can make
/// all of them hostile.
struct Samples {
    var text: (String) -> String = { $0 }
    var role: Viewer.Role = .admin
    var isSimulated = false

    static let now = at("2026-11-24T09:00:00Z")

    static func at(_ text: String) -> Timestamp {
        guard let timestamp = Timestamp(text) else {
            preconditionFailure("\(text) is no time.")
        }
        return timestamp
    }

    func at(_ text: String) -> Timestamp { Self.at(text) }

    var frame: Frame {
        Frame(
            viewer: Viewer(name: text("mira"), role: role, csrf: text("c5rf")), app: text("Birds"),
            now: Self.now, isSimulated: isSimulated, deliveriesWaiting: 214, checksOpen: 3)
    }

    func money(_ amount: String, _ currency: String = "USD") -> Money {
        Money(amount: amount, currency: text(currency))
    }

    // MARK: - Frames

    var noticed: Frame {
        var frame = frame
        frame.environment = .sandbox
        frame.theme = .dark
        frame.notices = [
            Notice(
                .wrong, text("The move was not made."),
                text("The purchase has gone on since: usr_55180 has it now. Nothing has changed."),
                link: .init(text("Look at usr_55180"), .customer(text("usr_55180"))),
                code: text("transfer_superseded"), requestID: text("7f31a2")),
            Notice(
                .done, text("cleo has pro until 24 December."),
                text("The app knows within a minute."),
                undo: .init(text("Take it back"), .withdrawal(of: text("g"), from: text("cleo")))),
        ]
        return frame
    }

    // MARK: - Customers

    var customers: CustomersPage {
        func row(
            _ id: String?, _ state: AccessState?, _ until: String?, _ rights: [String],
            _ product: String, _ paid: [Money], by: String? = nil
        ) -> CustomersPage.Row {
            .init(
                customerID: id.map(text), by: by.map(text), state: state, until: until.map(at),
                entitlements: rights.map(text), productID: text(product), paid: paid,
                since: at("2026-01-18T09:00:00Z"), newsAt: at("2026-11-24T08:51:00Z"))
        }
        return CustomersPage(
            query: text(""),
            rows: [
                row(
                    "cleo", .grace, "2026-12-04T09:00:00Z", ["pro"], "premium.monthly",
                    [money("138.88")]),
                row("ben", .refunded, "2026-11-24T08:51:00Z", [], "pro.monthly", [money("19.98")]),
                row(
                    "anna", .paid, "2027-10-24T08:50:00Z", ["pro", "guide"], "pro.yearly",
                    [money("84.98")]),
                row(
                    "usr_88213", .trial, "2026-12-01T08:58:00Z", ["pro"], "pro.yearly",
                    [money("0.00")]),
                row(
                    "usr_41907", .paid, "2026-12-24T08:57:00Z", ["pro"], "pro.monthly",
                    [money("65.94", "EUR"), money("9.99")]),
                row(
                    "usr_33870", .retry, "2026-11-20T09:00:00Z", [], "pro.monthly",
                    [money("31.96", "GBP")], by: "order_id"),
                row("mod-lena", .granted, nil, ["pro"], "pro.monthly", []),
                row(
                    "usr_60122", .unconfirmed, "2026-11-25T09:00:00Z", ["pro"], "pro.monthly",
                    [money("4500.00", "JPY")]),
                row(nil, nil, nil, [], "guide", [], by: "transaction_id"),
                row("old", AccessState(rawValue: text("strange")), nil, [], "guide", []),
            ], total: 12_408, open: 2_378, olderCursor: text("c1"))
    }

    func entitlement(
        _ state: AccessState, active: Bool, until: String?, product: String, reason: String,
        renews: Bool? = nil
    ) -> Entitlement {
        Entitlement(
            active: active, until: until.map(at), state: state, reason: text(reason),
            willRenew: renews, productID: text(product), purchaseID: text("p1"))
    }

    var cleo: Customer {
        Customer(
            customerID: text("cleo"), aliases: [text("anon_5f2c0e4b-7a1d-4c1e-9b02-6f0d2a77c410")],
            environment: .production, asOf: Self.now,
            entitlements: [
                text("pro"): entitlement(
                    .grace, active: true, until: "2026-12-04T09:00:00Z", product: "premium.monthly",
                    reason: """
                        The App Store could not collect the renewal and grants a grace period \
                        until \
                        2026-12-04 09:00 UTC.
                        """),
                text("season") + " ": entitlement(
                    .expired, active: false, until: "2026-06-02T09:00:00Z",
                    product: "season.spring",
                    reason: "The time that was bought ended on 2026-06-02 09:00 UTC."),
                text("guide") + "  ": entitlement(
                    .refunded, active: false, until: "2026-05-28T10:00:00Z", product: "guide",
                    reason: "Refunded on 2026-05-28 10:00 UTC."),
            ],
            subscriptions: [
                Subscription(
                    purchaseID: text("p1"), productID: text("premium.monthly"),
                    originalTransactionID: text("2000000811204417"), state: .grace,
                    period: .init(
                        from: at("2026-11-18T09:00:00Z"), until: at("2026-12-18T09:00:00Z")),
                    willRenew: true, renewsTo: text("premium.monthly"),
                    graceUntil: at("2026-12-04T09:00:00Z"), price: money("19.99"),
                    ownership: .purchased, environment: .production)
            ],
            nonRenewing: [
                NonRenewing(
                    productID: text("season.spring"), from: at("2026-03-01T09:00:00Z"),
                    until: at("2026-06-02T09:00:00Z"), daysRemaining: 0)
            ],
            oneTime: [
                OneTimePurchase(
                    productID: text("guide"), purchasedAt: at("2026-05-20T09:00:00Z"),
                    revokedAt: at("2026-05-28T10:00:00Z"))
            ], wallets: [text("seeds"): Wallet(balance: 35)],
            accountToken: text("8d7e1f20-55b1-4a4e-9a3f-0c21be6f9e11"))
    }

    var purchaseLines: [PurchaseLine] {
        var lines = PurchaseLine.lines(of: cleo)
        lines[0].paid = money("119.91")
        lines[1].paid = money("14.99")
        lines[1].originalTransactionIDs = [text("2000000731118202")]
        lines[2].paid = money("0.00")
        lines[2].originalTransactionIDs = [text("2000000774400913")]
        lines.append(
            PurchaseLine(
                productID: text("seeds.100"), count: 2, kind: .consumable,
                from: at("2026-02-12T09:00:00Z"), paid: money("3.98"),
                originalTransactionIDs: [text("1"), text("2")]))
        return lines
    }

    var customer: CustomerPage {
        CustomerPage(
            customer: cleo, since: at("2026-01-18T09:00:00Z"), paid: [money("138.88")],
            storefront: text("USA"), purchases: purchaseLines, timeline: timeline,
            explanation: [text("cleo, production, at 2026-11-24 09:00 UTC"), text("  pro: grace")],
            wallets: [statement], transfers: [transfer], blocked: [text("2000000731118202")],
            grants: [grant, oldGrant], consumption: consumption, history: history,
            entitlements: [text("pro"), text("season"), text("guide")], eventsCount: 41)
    }

    var emptyCustomer: CustomerPage {
        CustomerPage(
            customer: Customer(
                customerID: text("dora"), environment: .production, asOf: Self.now),
            history: History(items: [], nextCursor: nil), entitlements: [text("pro")])
    }

    var anna: CustomerPage {
        var page = emptyCustomer
        page.customer.customerID = text("anna")
        page.since = at("2026-10-17T09:00:00Z")
        page.customer.entitlements = [
            text("pro"): entitlement(
                .paid, active: true, until: "2027-10-24T08:50:00Z", product: "pro.yearly",
                reason: "Paid until 2027-10-24 08:50 UTC, then renews.", renews: true),
            text("guide") + " ": entitlement(
                .owned, active: true, until: nil, product: "guide",
                reason: "Bought on 2026-11-02 19:11 UTC, to keep."),
        ]
        return page
    }

    var transfer: Transfer {
        var transfer = Transfer(
            transferID: text("trf_1"), originalTransactionID: text("2000000731118202"),
            environment: .production, to: text("cleo"))
        transfer.kind = "moved"
        transfer.from = text("usr_20991")
        transfer.evidence = "support"
        transfer.reason = text("ticket 3702")
        transfer.at = at("2026-06-04T10:00:00Z")
        return transfer
    }

    var grant: Grant {
        Grant(
            grantID: text("grt_1"), entitlement: text("season"), from: at("2026-11-20T10:00:00Z"),
            until: at("2026-12-20T00:00:00Z"), reason: text("ticket 4711"), withdrawnAt: nil)
    }

    var oldGrant: Grant {
        Grant(
            grantID: text("grt_0"), entitlement: text("pro"), from: at("2026-03-02T16:20:00Z"),
            until: at("2026-03-09T00:00:00Z"), reason: text("ticket 3391"), withdrawnAt: nil)
    }

    var consumption: ConsumptionOverview {
        ConsumptionOverview(
            consented: true, consentedAt: Self.now, sampleContentProvided: false, purchases: [],
            requests: [
                ConsumptionQuestion(
                    transactionID: text("2000000774400913"), productID: text("seeds.100"),
                    reason: text("UNINTENDED_PURCHASE"), askedAt: at("2026-11-24T05:00:00Z"),
                    answerUntil: at("2026-11-24T17:00:00Z"), state: "waiting", attempts: 0,
                    endedAt: nil, trouble: text("No consent is known."), answer: nil)
            ])
    }

    var statement: WalletStatement {
        func line(
            _ day: String, _ kind: WalletStatement.Line.Kind, _ amount: Int64, _ balance: Int64,
            _ reason: String?
        ) -> WalletStatement.Line {
            var line = WalletStatement.Line(
                at: at("\(day)T10:00:00Z"), kind: kind, amount: amount, balance: balance)
            line.reason = reason.map(text)
            return line
        }
        return WalletStatement(
            currency: text("seeds"), balance: 35,
            items: [
                line("2026-11-21", .debit, -20, 35, "a nest"),
                line("2026-10-02", .debit, -65, 55, "an oak"),
                line("2026-08-09", .purchase, 100, 120, nil),
                line("2026-03-01", .debit, -80, 20, "a pond"),
                line("2026-02-12", .purchase, 100, 100, nil),
            ], nextCursor: nil)
    }

    var history: History {
        func line(
            _ at: String, _ kind: String, _ sentence: String, _ reference: String? = nil,
            document: String? = nil
        ) -> History.Line {
            History.Line(
                at: self.at(at), kind: text(kind), sentence: text(sentence), purchaseID: text("p1"),
                documentID: document.map(text), reference: reference.map(text))
        }
        return History(
            items: [
                line(
                    "2026-01-18T09:00:00Z", "fact",
                    "pro.monthly, transaction 2000000811204417, from 2026-01-18 09:00 UTC.",
                    document: "17ab03a09d"),
                line(
                    "2026-03-02T16:20:00Z", "grant", "pro granted until 9 March: ticket 3391",
                    "grt_0"),
                line(
                    "2026-11-18T09:00:00Z", "event", "Event: billing failed, from paid to grace.",
                    "evt_40102"),
                line(
                    "2026-11-24T09:00:00Z", "fact", "Apple tried the card again, and failed.",
                    document: "9f2c41bb01"),
            ], nextCursor: text("h1"))
    }

    var timeline: TimelinePicture {
        func span(
            _ kind: TimelinePicture.Kind, _ from: String, _ until: String, _ label: String = ""
        ) -> TimelinePicture.Span {
            .init(
                kind, from: at("\(from)T09:00:00Z"), until: at("\(until)T09:00:00Z"),
                label: text(label))
        }
        return TimelinePicture(lanes: [
            .init(
                name: text("Birds Pro"),
                spans: [
                    span(.paid, "2026-01-18", "2026-02-18", "mon"),
                    span(.paid, "2026-02-18", "2026-03-18"),
                    span(.paid, "2026-03-18", "2026-04-18"),
                    span(.grace, "2026-04-18", "2026-04-26"),
                    span(.paid, "2026-04-26", "2026-05-18"),
                    span(.paid, "2026-05-18", "2026-06-18"),
                    span(.paid, "2026-06-18", "2026-07-18"),
                    span(.paid, "2026-07-18", "2026-08-18", "prem"),
                    span(.refunded, "2026-08-18", "2026-09-18"),
                    span(.paid, "2026-09-18", "2026-10-18"),
                    span(.paid, "2026-10-18", "2026-11-18"),
                    span(.grace, "2026-11-18", "2026-12-04"),
                ],
                marks: [
                    .init(at: at("2026-04-22T09:00:00Z"), text("card failed")),
                    .init(at: at("2026-07-18T09:00:00Z"), text("upgraded")),
                    .init(at: at("2026-09-10T09:00:00Z"), text("given back later")),
                    .init(at: at("2026-12-04T09:00:00Z"), text("grace until 4 Dec")),
                ]),
            .init(
                name: text("season.spring"),
                spans: [span(.term, "2026-03-01", "2026-06-02", "3 months")]),
            .init(
                name: text("guide"), spans: [span(.refunded, "2026-05-20", "2026-05-28")],
                marks: [.init(at: at("2026-05-28T09:00:00Z"), text("given back after 8 days"))]),
        ])
    }
}
