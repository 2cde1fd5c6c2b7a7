import Ledger
import Reports
import Testing

@testable import Storage

@Suite struct PlanTests {
    /// The plans of queries. A customer has few purchases, but an app has millions.
    @Test(arguments: [
        (LinkRows.selectLinked, "links_by_customer"),
        (LinkRows.selectUnlinked, "purchases_by_account_token"),
        (ShareRows.selectShared, "shares_by_customer"),
    ])
    func `the purchases of a customer are found by an index`(
        select: String, index: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: select, [.text("birds"), .text("anna"), .text("production")])
            #expect(plan[0].hasPrefix("SEARCH") && plan[0].contains(index), "\(plan)")
            #expect(plan.allSatisfy { !$0.hasPrefix("SCAN") }, "\(plan)")
        }
    }

    @Test func `the ids of a customer are found by their index`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: CustomerRows.selectIDs, [.text("birds"), .text("anna")])
            #expect(plan.count == 5, "\(plan)")
            #expect(plan[0].hasSuffix("(app=? AND id=?)"), "\(plan)")
            #expect(plan[1].contains("customer_ids_by_customer (app=? AND customer=?)"), "\(plan)")
            #expect(plan[2].contains("grants_by_customer (app=? AND customer=?)"), "\(plan)")
            #expect(
                plan[4].contains("seat_claims_by_customer (app=? AND customer=? "), "\(plan)")
        }
    }

    @Test func `a mail address is found by its index, without reading other attributes`()
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: AttributeRows.selectByMailAddress,
                [.text("birds"), .text("anna@example.com"), .integer(20)])
            let wanted = "COVERING INDEX customer_attributes_by_mail_address (app=? AND mail_addr"
            #expect(plan.count == 1 && plan[0].contains(wanted), "\(plan)")
        }
    }

    /// A report adds the movements of today to the stored sums. An app has millions of others.
    @Test(arguments: [nil, Division.country])
    func `the movements of a day are read by their index`(division: Division?) async throws {
        let filter = MovementFilter(
            app: "birds", environment: .production, until: Instant(milliseconds: 1),
            division: division)
        let (select, sets) = SumRows.selectScanned(filter, from: 9, before: 10, opening: 10)
        #expect(sets.count == 2 * Movement.Kind.allCases.count)
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(of: select, sets[0])
            let wanted =
                "money_movements_by_kind (app=? AND environment=? AND kind=? AND day>? AND day<?)"
            #expect(plan[0].contains(wanted), "\(plan)")
        }
    }

    @Test func `the claims on a purchase are found by their index`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: "SELECT cause FROM seat_claims WHERE \(SeatClaimRows.openOnPurchase)",
                [.text("birds"), .text("production"), .text("1")])
            #expect(plan.count == 1 && plan[0].contains("seat_claims_by_rank (app=? "), "\(plan)")
        }
    }

    @Test(arguments: [
        (LeaseQueue.seatReports, "seat_claims_by_due"),
        (LeaseQueue.seatGroups, "seat_groups_by_due"),
    ])
    fileprivate func `seats that are due to be reported or compared are found by an index`(
        queue: LeaseQueue, index: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let scope: [Value] = [.text("birds"), .text("sandbox")]
            let due = try await store.plan(
                of: queue.selectDue(.sqlite), [.integer(1)] + scope + [.integer(1), .integer(8)])
            #expect(
                due.count == 1 && due[0].contains("\(index) (app=? AND environment=? "), "\(due)")
            let waiting = try await store.plan(
                of: queue.selectBacklog(isDue: false), scope + [.integer(1)])
            #expect(waiting.contains { $0.contains("COVERING INDEX \(index)") }, "\(waiting)")
        }
    }

    @Test(arguments: [
        ("apple_state = 'off'", "seat_claims_off"),
        ("cause = 'unclaimed' AND ended_at_ms >= 1", "seat_claims_unclaimed"),
        (
            "apple_asked_at_ms IS NOT NULL AND apple_claim IS NULL", "seat_claims_unanswered"
        ),
    ]) func `a group's claims in one state are found by their index`(
        condition: String, index: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: "SELECT cause FROM seat_claims WHERE app = $1 AND environment = $2 "
                    + "AND purchase = $3 AND \(condition)",
                [.text("birds"), .text("production"), .text("1")])
            #expect(plan.count == 1 && plan[0].contains("\(index) (app=? "), "\(plan)")
            let byID = try await store.plan(
                of: "SELECT cause FROM seat_claims WHERE app = $1 AND apple_claim = $2",
                [.text("birds"), .text("s")])
            #expect(byID.count == 1 && byID[0].contains("seat_claims_by_apple_claim"), "\(byID)")
        }
    }

    static let lists: [(StoredForward.State?, String)] = [
        (nil, "forwards_by_time"), (.waiting, "forwards_waiting"),
        (.accepted, "forwards_by_time"), (.givenUp, "forwards_given_up"),
        (.leftOut, "forwards_left_out"),
    ]

    @Test(arguments: lists)
    func `the forwards in one state are read in order, without reading other forwards`(
        state: StoredForward.State?, index: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let first = try await store.plan(
                of: ForwardRows.selectForwards(in: state, isFirstPage: true),
                [.text("birds"), .integer(10)])
            #expect(first.count == 1 && first[0].contains("\(index) (app=?)"), "\(first)")
            let next = try await store.plan(
                of: ForwardRows.selectForwards(in: state, isFirstPage: false),
                [.text("birds"), .integer(1), .bytes([1]), .text("u"), .integer(10)])
            let wanted = "\(index) (app=? AND (created_at_ms,document,target)<(?,?,?))"
            #expect(next.count == 1 && next[0].contains(wanted), "\(next)")
        }
    }

    static let forgotten: [(StoredForward.State, String)] = [
        (.waiting, "forwards_waiting (app=? AND created_at_ms<?)"),
        (.accepted, "forwards_accepted (app=? AND accepted_at_ms>? AND accepted_at_ms<?)"),
        (.givenUp, "forwards_given_up (app=? AND created_at_ms<?)"),
        (.leftOut, "forwards_left_out (app=? AND created_at_ms<?)"),
    ]

    @Test(arguments: forgotten)
    func `the forwards to delete are found without reading the forwards that stay`(
        state: StoredForward.State, wanted: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: ForwardRows.selectExpired(in: state),
                [.text("birds"), .integer(1), .integer(10)])
            #expect(plan.count == 1 && plan[0].contains(wanted), "\(plan)")
        }
    }

    @Test(arguments: [nil, Self.position])
    func `the movements behind a number are read by an index, in order`(position: SourcePosition?)
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let filter = MovementFilter(
                app: "birds", environment: .production, until: Instant(milliseconds: 9))
            let (select, values) = ReportSourceRows.selectMovements(
                filter, in: 1..<9, after: position, limit: 10)
            let plan = try await store.plan(of: select, values + [.text("refund")])
            let start = position == nil ? "day>?" : "(day,at_ms,purchase)>(?,?,?)"
            let wanted = "(app=? AND environment=? AND kind=? AND \(start) AND day<?)"
            #expect(plan.contains { $0.hasSuffix("money_movements_by_kind \(wanted)") }, "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }
    }

    private static let position = SourcePosition(
        day: 2, at: Instant(milliseconds: 1), purchase: "1", kind: "refund", transaction: "1",
        currency: "USD")

    @Test func `due forwards are found by an index, and so is the number of waiting forwards`()
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let due = try await store.plan(
                of: LeaseQueue.forwards.selectDue(.sqlite),
                [.integer(1), .text("birds"), .text("u"), .integer(1), .integer(8)])
            #expect(due.count == 1 && due[0].contains("forwards_by_due"), "\(due)")
            let waiting = try await store.plan(
                of: LeaseQueue.forwards.selectBacklog(isDue: false),
                [.text("birds"), .text("u"), .integer(1)])
            let wanted = "forwards_by_due (app=? AND target=?"
            #expect(waiting.contains { $0.contains(wanted) }, "\(waiting)")
            #expect(!waiting.contains { $0.contains("TEMP B-TREE") }, "\(waiting)")
        }
    }

    @Test func `due alert channels are found by their key`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let due = try await store.plan(
                of: LeaseQueue.alertChannels.selectDue(.sqlite),
                [.integer(1), .text(""), .text("mail"), .integer(1), .integer(1)])
            #expect(due.count == 1 && due[0].contains("(app=? AND channel=?)"), "\(due)")
        }
    }

    @Test func `due deliveries of a webhook are found by an index`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let key: [Value] = [.text("birds"), .text("crm")]
            let due = try await store.plan(
                of: LeaseQueue.webhookDeliveries.selectDue(.sqlite),
                [.integer(1)] + key + [.integer(1), .integer(8)])
            #expect(due.count == 1 && due[0].contains("webhook_deliveries_by_due"), "\(due)")
            for select in [WebhookDeliveryRows.selectStarted, WebhookDeliveryRows.selectNext] {
                let next = try await store.plan(of: select, key + [.text("anna")])
                let wanted = "webhook_deliveries_by_order (app=? AND webhook=? AND stream=?)"
                #expect(next.count == 1 && next[0].contains(wanted), "\(next)")
            }
            let parts = try await store.plan(
                of: WebhookDeliveryRows.selectParts, key + [.text("anna"), .integer(1)])
            let byPart = "(app=? AND webhook=? AND stream=? AND sequence=?)"
            #expect(
                parts.count == 1 && parts[0].contains("webhook_deliveries_by_order \(byPart)"),
                "\(parts)")
            let waiting = try await store.plan(
                of: WebhookDeliveryRows.selectWaiting, key + [.integer(1)])
            #expect(!waiting.contains { $0.contains("TEMP B-TREE") }, "\(waiting)")
            let ended = try await store.plan(
                of: WebhookDeliveryRows.selectEnded,
                [.text("birds"), .text("failed"), .integer(1), .integer(1)])
            let wanted = "webhook_deliveries_by_end (app=? AND state=? AND ended_at_ms<?)"
            #expect(ended.count == 1 && ended[0].contains(wanted), "\(ended)")
        }
    }

    static let eventsOfCustomer: [(String, String, [Value])] = [
        (
            EventLog.ofCustomerAfter, "(app=? AND customer=? AND sequence>?)",
            [.text("birds"), .text("anna"), .integer(1), .integer(10)]
        ),
        (
            EventLog.ofCustomerBefore, "(app=? AND customer=? AND sequence<?)",
            [.text("birds"), .text("anna"), .integer(9), .integer(10)]
        ),
        (
            EventLog.lastOfCustomer, "(app=? AND customer=?)",
            [.text("birds"), .text("anna"), .integer(10)]
        ),
    ]

    @Test(arguments: eventsOfCustomer)
    func `a customer's events are read in order from any position`(
        condition: String, compared: String, values: [Value]
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: EventLog.selectEvents(where: condition), values)
            let wanted = "events_of_customer \(compared)"
            #expect(plan.count == 1 && plan[0].contains(wanted), "\(plan)")
        }
    }

    @Test
    func `the events of purchases that name a customer are found without reading other events`()
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let naming = try await store.plan(
                of: AccountTokenRows.selectByToken, [.text("birds"), .text("t")])
            let byToken = "purchases_by_account_token (app=? AND account_token=?)"
            #expect(naming.count == 1 && naming[0].contains(byToken), "\(naming)")
            let told = try await store.plan(
                of: EventLog.selectEvents(where: EventLog.ofNobodyAfter),
                [.text("birds"), .text("production"), .text("1"), .integer(1)])
            let wanted = "events_of_nobody (app=? AND environment=? AND purchase=? AND sequence>?)"
            #expect(told.count == 1 && told[0].contains(wanted), "\(told)")
        }
    }
}

extension Database {
    /// Returns SQLite's plan for a statement.
    func plan(of sql: String, _ values: [Value]) async throws -> [String] {
        try await driver.read { connection in
            try connection.rows("EXPLAIN QUERY PLAN \(sql)", values) { row throws(StorageFailure) in
                try row.skip(3)
                return try row.text()
            }
        }
    }
}
