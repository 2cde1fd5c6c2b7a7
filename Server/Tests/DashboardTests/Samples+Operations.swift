import PerennialContract

@testable import Dashboard

extension Samples {
    // MARK: - Notifications

    var cameIn: NotificationsPage {
        func item(
            _ time: String, _ type: String, _ subtype: String?,
            _ way: NotificationsPage.Incoming.Way, _ customer: String?, isForwarded: Bool = false
        ) -> NotificationsPage.Incoming {
            .init(
                signedAt: at("2026-11-24T08:38:58Z"), receivedAt: at("2026-11-24T\(time)Z"),
                type: text(type), subtype: subtype.map(text), way: way,
                customerID: customer.map(text), documentID: text("9f2c\(time)"),
                transaction: text("2000000811204417"), accepted: isForwarded ? 1 : 0,
                waiting: isForwarded ? 1 : 0)
        }
        let hours = (0..<24).map { hour in
            Strip.Hour(good: 20 + hour * 13 % 17, bad: hour == 17 ? 3 : 0)
        }
        return NotificationsPage(
            .cameIn(
                .init(
                    day: .init(
                        received: 1_204, asked: 3, milliseconds: 2_000, slowMilliseconds: 9_000,
                        repeated: 12, refused: 3), hours: hours,
                    items: [
                        item(
                            "08:59:12", "DID_FAIL_TO_RENEW", "GRACE_PERIOD", .sent, "cleo",
                            isForwarded: true),
                        item("08:58:40", "SUBSCRIBED", "INITIAL_BUY", .asked, "usr_88213"),
                        item("08:40:02", "TEST", nil, .sent, nil),
                        item("08:39:02", "REFUND", nil, .imported, nil),
                    ], olderCursor: text("n1"))), waiting: 38)
    }

    var forwarded: NotificationsPage {
        func forward(_ state: Forward.State, _ attempts: Int) -> Forward {
            Forward(
                documentID: text("9f2c41bb01"), url: text("https://vendor.example.net"),
                environment: .production, state: state, createdAt: at("2026-11-23T22:14:00Z"),
                attempts: attempts, lastStatus: 500, lastTrouble: text("silence for 10 s"),
                nextAttemptAt: state == .waiting ? at("2026-11-24T09:04:00Z") : nil)
        }
        return NotificationsPage(
            .forwarded(
                .init(
                    addresses: [
                        .init(
                            url: text("https://old.example.com"),
                            environments: [.production, .sandbox], accepted: 1_204),
                        .init(
                            url: text("https://vendor.example.net"), environments: [.production],
                            trouble: text("answers 500"), waiting: 38,
                            oldestWaiting: at("2026-11-24T07:48:00Z"), accepted: 9,
                            nextAttemptAt: at("2026-11-24T09:04:00Z")),
                    ],
                    forwards: ForwardList(
                        items: [
                            forward(.givenUp, 36), forward(.waiting, 31), forward(.accepted, 1),
                            forward(.leftOut, 0), forward(.init(rawValue: text("odd")), 2),
                        ], nextCursor: text("f1")))), waiting: 38)
    }

    var asked: NotificationsPage {
        NotificationsPage(
            .asked(
                .init(
                    notifications: 8_310, missed: 2, latestMilliseconds: 2_460_000,
                    nextAt: at("2026-11-24T09:41:00Z"), respondedAt: at("2026-11-24T08:41:00Z"),
                    due: 1,
                    next: [
                        .init(
                            transaction: text("2000000811204417"),
                            dueAt: at("2026-11-24T09:02:00Z"),
                            askedAt: at("2026-11-23T09:02:00Z"), failures: 2),
                        .init(transaction: text("7"), dueAt: at("2026-11-25T09:02:00Z")),
                    ])))
    }

    var cannotAsk: NotificationsPage {
        NotificationsPage(
            .asked(
                .init(notifications: 0, missed: 0, trouble: text("No key is configured."))))
    }

    // MARK: - Products

    var products: ProductsPage {
        ProductsPage(
            offerings: Offerings(
                app: text("birds"), bundleID: text("com.example.birds"), environment: .production,
                products: [
                    .init(
                        productID: text("pro.monthly"), entitlements: [text("pro")],
                        familyShareable: true),
                    .init(
                        productID: text("season.spring") + " ",
                        entitlements: [text("season") + " "],
                        term: .init(months: 3, days: 1, bonusDays: 0, chain: text("season"))),
                    .init(productID: text("seeds.100") + "  ", credits: [text("seeds"): 100]),
                ],
                placements: [
                    .init(placementID: text("default"), products: [text("pro.monthly")]),
                    .init(placementID: text("winter"), products: [text("pro.monthly")]),
                ],
                wallets: [
                    text("seeds"): .init(spend: text("app"), maxOffline: 50, allowsDebt: true)
                ],
                timeZone: text("Europe/Vienna"), overlap: text("stack"), unconfirmedHoldHours: 24,
                offlineDays: 7),
            figures: [
                text("pro.monthly"): .init(
                    displayName: text("Birds Pro, monthly"), kind: text("subscription, 1 month"),
                    price: money("9.99"), active: 801)
            ], open: [text("pro"): 1_899],
            unlisted: [
                .init(
                    productID: text("pro.weekly"), line: text("pro.weekly: { grants: [pro] }"),
                    purchases: 2, since: at("2026-11-22T09:00:00Z"))
            ],
            takesConfiguration: true)
    }

    var configuration: ConfigurationPage {
        ConfigurationPage(
            ConfigurationPreview(
                differences: [text("- product pro.yearly gives plus")], customers: 81_220,
                complete: false,
                entitlements: [
                    .init(
                        entitlement: text("plus"), environment: .production, losing: 12,
                        gaining: 1, losingIDs: [text("anna"), text("ben")],
                        gainingIDs: [text("cleo")])
                ]))
    }

    var sameConfiguration: ConfigurationPage {
        ConfigurationPage(
            ConfigurationPreview(
                differences: [], customers: 0, complete: true, entitlements: []))
    }

    var noProducts: ProductsPage {
        ProductsPage(
            offerings: Offerings(
                app: text("birds"), bundleID: text("b"), environment: .production, timeZone: "UTC",
                overlap: "stack", unconfirmedHoldHours: 24, offlineDays: 7))
    }

    // MARK: - Moving a purchase

    var move: MovePage {
        MovePage(
            customerID: text("cleo"), query: text("MLQ4X2"), reason: text("ticket 4711"),
            found: [
                .init(
                    originalTransactionID: text("2000000731118202"),
                    productID: text("season.spring"),
                    owner: text("usr_20991") + " ", state: .paid, isBlocked: true),
                .init(originalTransactionID: text("2000000731118203")),
                .init(
                    originalTransactionID: text("2000000731118204"), productID: text("guide"),
                    owner: text("cleo")),
            ])
    }

    var moveNothing: MovePage {
        MovePage(
            customerID: text("cleo"), query: text("MLQ4X2"), reason: text("why"), found: [],
            apple: .noKey)
    }

    var credit: CreditPage {
        CreditPage(
            customerID: text("cleo"), currency: text("seeds"), amount: 50,
            reason: text("ticket 4711"), balance: 35, formKey: text("k"))
    }

    // MARK: - Checks, problems, documents

    var checks: ChecksPage {
        ChecksPage(
            checks: [
                .init(text("Database"), .well, text("answers in 0.4 ms; 2.1 GB; last write now")),
                .init(text("Apple’s key"), .well, text("accepted 3 minutes ago")),
                .init(
                    text("Configuration"), .needsYou,
                    text("pro.weekly is sold, and opens nothing."),
                    link: .init(text("Add it to perennial.yaml"), .products),
                    remedy: text("pro.weekly: [pro]")),
                .init(
                    text("Webhooks"), .failed,
                    text("crm.example.com has accepted nothing for 5 hours."),
                    link: .init(text("214 deliveries wait"), .webhooks)),
            ],
            requests: .init(
                perMinute: 312, minutes: (0..<48).map { .init(good: 20 + $0 * 7 % 31) },
                facts: [(text("Customer answered"), text("0.9 ms; 99 of 100 under 4 ms"))]),
            log: [
                .init(
                    at: at("2026-11-24T07:22:00Z"), actor: text("mira"),
                    deed: text("moved a purchase from usr_31224 to usr_55180: ticket 4702"))
            ])
    }

    var rehearsal: RehearsalPage {
        func summary(_ unexplained: Int64, _ day: Int) -> RehearsalPage.Summary {
            .init(
                from: at("2026-11-\(day)T07:00:00Z"), to: at("2026-11-\(day)T08:20:00Z"),
                project: text("proj1ab2c3d4"), customers: 10_000, entitlements: 4_120,
                differences: 19 + unexplained, unexplained: unexplained,
                isComplete: unexplained == 0, loses: 3, gains: 11)
        }
        return RehearsalPage(
            last: summary(0, 24),
            causes: [
                .init(
                    name: text("unexplained"), count: 0, sentence: text("No known cause fits."),
                    remedy: text("Compare `perennial explain`.")),
                .init(
                    name: text("missed_there"), count: 19,
                    sentence: text("RevenueCat lacks a document that Apple signed."),
                    remedy: text("Nothing: Apple has signed the document.")),
            ],
            differences: [
                .init(
                    cause: text("missed_there"), customer: text("cleo"), entitlement: text("pro"),
                    aspect: text("access"), effect: "gains", ours: text("open until 2026-12-24"),
                    theirs: text("closed"), evidenceHere: text("document 9f2c41bb01"),
                    evidenceThere: text("subscriptions.0.status=expired")),
                .init(
                    cause: text("granted_there"), customer: text("usr_31224"),
                    entitlement: text("pro"), aspect: text("access"), effect: "loses",
                    ours: text("closed"), theirs: text("open until 2027-01-01"), evidenceHere: "",
                    evidenceThere: ""),
            ], earlier: [summary(7, 17)])
    }

    func problem(_ status: Int, _ code: String) -> ProblemPage {
        ProblemPage(
            Problem(
                code: .init(rawValue: text(code)), status: status,
                title: text("The transfer was superseded."), detail: text("usr_55180 has it now."),
                remedy: text("Look at usr_55180."), requestID: text("7f31a2")), wasAct: true)
    }

    private var documentLine: DocumentLine {
        DocumentLine(
            id: text("9f2c41bb01"), kind: text("notification"),
            signedAt: at("2026-11-24T08:50:58Z"), receivedAt: at("2026-11-24T08:51:00Z"),
            origin: text("a notification"))
    }

    var document: DocumentPage {
        DocumentPage(
            document: documentLine, customerID: text("cleo"),
            transactions: [text("2000000811204417")], payload: text("{\n  \"type\": \"REFUND\"\n}"),
            signed: text("eyJhbGciOi.payload.signature"), file: .document(text("9f2c41bb01")))
    }

    var receipt: DocumentPage {
        DocumentPage(
            document: documentLine, refusal: text("The purchase is not trusted."), payload: nil,
            signed: text("MIIX"), bytesCount: 40_000, file: .document(text("9f2c41bb01")))
    }

    var documents: DocumentsPage {
        DocumentsPage(transaction: text("2000000811204417"), documents: [documentLine])
    }

    func login(_ state: LoginPage.State) -> LoginPage {
        LoginPage(
            host: text("store.birds.example"), name: text("mira"), next: text("/"), state: state)
    }
}
