import Ledger
import PostgresCluster
import Reports
import StorageSQLite
import Testing

@testable import Engine
@testable import Storage

/// The direction of a copy between two kinds of database.
private struct Way: CustomTestStringConvertible, Sendable {
    var from: Driver
    var to: Driver

    var testDescription: String { "\(from) to \(to)" }

    static let all = [
        Way(from: .sqliteFile, to: .postgres), Way(from: .postgres, to: .sqliteFile),
    ]
}

@Suite struct CopyTests {
    /// Adds more rows than one batch holds, ids that collations sort differently, and every kind of
    /// row.
    private func fill(_ store: Database) async throws {
        try await store.transaction { tx in
            for number in 0..<1_100 {
                var each = document(UInt8(number % 250), signedAt: now + .seconds(number))
                each.parts += Array(repeating: 7, count: number)
                _ = try tx.documents.insert(each)
                let own = PurchaseID(TransactionID(rawValue: "\(number % 300)"), in: .sandbox)
                try DocumentRecorder(tx).project(
                    [fact(TransactionID(rawValue: "t\(number)"), about: own)], from: each)
            }
            // These documents belong to other apps, which sort before and after this one, and to a
            // month long ago.
            for name in ["ants", "zebra"] {
                var each = document(251, signedAt: now - .days(400))
                each.app = AppID(rawValue: name)
                _ = try tx.documents.insert(each)
            }
            for name in ["Z", "a", "ä", "Ö", "_", "é", "🙂", "aa", "A"] {
                let id = CustomerID(rawValue: name)
                _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
                try IdentityUpdates(tx).addID(
                    CustomerID(rawValue: name + "-2"), to: id, in: app, at: now)
                let own = PurchaseID(TransactionID(rawValue: name), in: .production)
                try OwnershipUpdates(tx).link(own, to: id, by: .support, in: app, at: now)
            }
            try IdentityUpdates(tx).removeID("A-2", from: "A", in: app, at: now)
            for name in ["Z", "a"] {
                let own = PurchaseID(TransactionID(rawValue: name), in: .production)
                _ = try OwnershipUpdates(tx).move(
                    own, to: "ä", by: .support, reason: "x", in: app, at: now)
                try OwnershipUpdates(tx).share(own, with: "Ö", in: app, at: now)
                try OwnershipUpdates(tx).block(own, of: "ä", reason: "x", in: app, at: now)
                try GrantUpdates(tx).add(
                    StoredGrant(
                        Grant(
                            id: GrantID(rawValue: name), entitlement: "pro", from: now, until: nil,
                            reason: "x"), to: "ä", in: .production), in: app)
            }
            try tx.purchases.insertOrigin(
                PurchaseOrigin(placement: "paywall", sdk: nil, storefront: "AUT"),
                of: [("t1", PurchaseID("1", in: .sandbox))], in: app, at: now)
            try fillWithPeople(tx)
            try fillWithSeats(tx)
            try fillWithStanding(tx)
            try fillWithWebhooks(tx)
            try fillWithMoney(tx)
            try fillWithOperators(tx)
            let person = StoredCustomer(customer: "aa", ids: ["aa", "aa-2"])
            try CustomerErasure(tx).erase(
                person, names: ["aa": "erased_1", "aa-2": "erased_2"],
                hashes: [Array(repeating: 1, count: 32), Array(repeating: 2, count: 32)], in: app,
                at: now)
            // The erasure would have deleted the difference.
            let difference = StoredDifference(
                cause: "clock", customer: "ä", entitlement: "pro", aspect: "until", effect: "none",
                ours: "a", theirs: "b", evidenceHere: "", evidenceThere: "")
            try tx.rehearsals.record(
                StoredRehearsal(endedAt: now, signed: "a.b.c"), [difference], of: app,
                in: .production)
        }
    }

    /// Adds consents, usage, consumption requests, bookings and reminders.
    private func fillWithPeople(_ tx: DatabaseSession) throws {
        let debit = Booking(.debit, id: "d", currency: "gems", amount: 3, reason: "x", at: now)
        try WalletUpdates(tx).book(
            StoredBooking(debit, of: "ä", in: .production, balance: -3), key: "k", in: app, at: now)
        let gift = Booking(.credit, id: "c", currency: "gems", amount: 2, reason: "x", at: now)
        try WalletUpdates(tx).book(
            StoredBooking(gift, of: "ä", in: .production, balance: -1), key: "c", in: app, at: now)
        try tx.consents.save(Consent(isGiven: true, hadSample: nil, at: now), of: "ä", in: app)
        try tx.attributes.replace(
            [
                CustomerAttribute(
                    name: "$email", value: "ä@example.com", updatedAt: now, author: .app),
                CustomerAttribute(name: "bird", value: nil, updatedAt: now, author: .server),
            ], of: "ä", in: app)
        try tx.consents.save(
            [
                PurchaseUsage(transaction: "1", delivery: .other, used: 5),
                PurchaseUsage(transaction: "2", delivery: .delivered, used: nil),
            ], of: "ä", in: app, environment: .sandbox)
        for (number, reason) in [(UInt8(1), "UNINTENDED_PURCHASE"), (2, nil)] {
            var asked = DocumentWithFacts(document(number), [])
            asked.consumptionInquiry = ConsumptionInquiry(
                purchase: PurchaseID(TransactionID(rawValue: "\(number)"), in: .sandbox),
                transaction: "1",
                product: "gems.100", reason: reason, askedAt: now)
            try ConsumptionUpdates(tx).record([asked])
        }
        for rules in ["a", "b"] { try tx.reminders.beginSweep(by: rules, of: app) }
        let watch = TermWatch(subject: "ä", environment: .production)
        for days in [1, 7] {
            let reminder = TermReminder(
                ending: TermEnding(chain: "all", from: now, until: now, daysBefore: days),
                dueAt: now, purchase: PurchaseID("ä", in: .production),
                payment: Payment(transaction: "1", product: "summer", from: now, until: nil))
            try tx.reminders.insert(reminder, to: "ä", watch: watch, in: app, at: now)
        }
    }

    private func fillWithSeats(_ tx: DatabaseSession) throws {
        let purchase = PurchaseID("ä", in: .production)
        let claims = ["a", "b"].map {
            SeatClaim(id: SeatClaimID(rawValue: $0), customer: "é", claimedAt: now)
        }
        try SeatUpdates(tx).insert(claims[0], on: purchase, in: app, at: now)
        try SeatUpdates(tx).release([claims[0]], on: purchase, because: .left, in: app, at: now)
        try SeatUpdates(tx).insert(claims[1], on: purchase, in: app, at: now)
        let worker = CheckWorker(holder: "me", lease: .seconds(9), checksPerSecond: 1)
        let leased = try tx.seatReports.lease(
            of: app, in: .production, dueBy: now, limit: 9, for: worker)
        try tx.seatReports.recordAsked(about: "b", in: app, at: now)
        try SeatUpdates(tx).complete(
            try #require(leased.first), .claimed("s"), trouble: nil, in: app, by: worker.holder,
            nextComparison: now, at: now)
        let unclaim = SeatUnclaim(ids: ["t"], isBound: true, environment: .sandbox)
        try SeatUpdates(tx).record(
            unclaim, from: [UInt8](repeating: 5, count: 32), in: app, at: now)
        let invitation = StoredInvitation(
            id: "i", purchase: purchase, customer: "é", createdAt: now, expiresAt: now + .days(7))
        let digest = [UInt8](repeating: 3, count: 32)
        try tx.seatInvitations.insert(invitation, digest: digest, in: app)
        try tx.seatInvitations.use(invitation, for: "b", in: app, at: now)
    }

    private func fillWithMoney(_ tx: DatabaseSession) throws {
        let segment = Segment(product: "pro", price: Money(milliunits: 9990, currency: "EUR"))
        let movement = Movement(.new, at: now, of: "1", segment)
        var history = MovementHistory()
        history.apply(MovementHistory.Change(from: history, to: [movement], at: now))
        try tx.movements.replace(of: PurchaseID("ä", in: .production), [], by: history, in: app)
        try tx.money.beginFill(of: app)
        try tx.sums.begin(of: app)
        let entry = Wallet(
            of: "gems", [],
            [Booking(.debit, id: "d", currency: "gems", amount: 3, reason: "x", at: now)],
            rules: .none
        ).entries
        try tx.shown.show(entry, in: "gems", of: "ä", in: app, .production)
        try tx.shown.show(
            [ShownEntitlement("pro", .granted)], of: "ä", in: app, .production)
        try tx.shown.begin(of: app, by: "x")
        var sums = SumTable()
        sums.add(SumChange(adding: movement, on: 1), in: .production)
        try tx.sums.add(sums, of: app)
        var cohorts = CohortTable()
        cohorts.add(
            CohortChange(CohortCell(.revenue, 1, beganOn: 1, in: "EUR", on: 1), 9_990),
            in: .production)
        try tx.cohorts.add(cohorts, of: app)
        _ = try tx.appleReports.insert(
            AppleReport(
                kind: "SALES", days: 1...1, digest: [UInt8](repeating: 7, count: 32), name: "x",
                rowsCount: 1, importedAt: now, content: [1, 2]), in: app)
    }

    private func fillWithOperators(_ tx: DatabaseSession) throws {
        let hash = [UInt8](repeating: 9, count: 32)
        let roles = OperatorRoles(everywhere: .viewer, byApp: [app: .admin, "zebra": .support])
        _ = try tx.operators.add(
            Operator(name: "mira", roles: roles, createdAt: now), password: "x")
        try tx.sessions.add(
            OperatorSession(
                hash: hash, operatorName: "mira", createdAt: now, until: now + .days(1),
                address: "::1",
                agent: "x"))
        try tx.operatorLinks.add(
            OperatorLink(
                hash: hash, kind: .reset, operatorName: "mira", roles: roles, author: "x",
                createdAt: now, until: now))
        try tx.signIns.save(SignInFailures(subject: "name mira", count: 2, lastAt: now))
        try tx.signIns.record(of: "mira", from: "::/64", at: now, since: now, max: 1)
        try tx.identities.save(
            OperatorIdentity(
                issuer: "https://login.example.com", subject: "a1", operatorName: "mira",
                fullName: "", createdAt: now))
        _ = try tx.passkeys.add(
            OperatorPasskey(
                id: [1], operatorName: "mira", name: "Phone", publicKey: [2], counter: 3,
                createdAt: now, usedAt: now))
        try tx.recoveryCodes.replace(of: "mira", with: [hash], at: now)
        _ = try tx.identities.use(signIn: hash, until: now)
        _ = try tx.alerts.insert(
            OpenAlert(subject: AlertSubject("Log"), since: now, seenAt: now))
        _ = try tx.alerts.enqueue(
            WaitingAlert(channel: .mail, createdAt: now, id: "alert_1", content: "{}"))
        for app in [app, nil] {
            try tx.audit.append(
                RecordedAct(app: app, at: now, id: "1", author: "mira", act: "x", customer: "ä"))
        }
    }

    private func fillWithStanding(_ tx: DatabaseSession) throws {
        let bytes = [UInt8](repeating: 5, count: 32)
        try tx.keys.add(hash: bytes, app: app, kind: .app, name: "", at: now)
        try tx.secrets.add(bytes, "links", of: app, at: now)
        try tx.tokenKeys.rotate(
            to: StoredTokenKey(id: "k", app: app, privateKey: bytes, createdAt: now), at: now)
        try tx.imports.save(
            ImportPosition(bytesRead: 7), of: ImportKey(app: app, kind: "x", file: bytes), at: now)
        try tx.appStore.paused(app, in: .sandbox, until: now)
        try tx.events.beginEpoch(named: "aaaaaaaaaa", at: now)
        var arrived = DocumentWithFacts(document(3), [])
        arrived.forward = ForwardOrder(
            ReceivedNotification(contentType: nil, body: [1]), to: ["a", "b"], createdAt: now,
            dueAt: now)
        try tx.forwards.enqueue([arrived])
    }

    private func fillWithWebhooks(_ tx: DatabaseSession) throws {
        let webhook = WebhookID(rawValue: "wh_1")
        let settings = WebhookSettings(
            url: "https://example.com/", filter: WebhookFilter(environments: [.production]),
            authorization: "Bearer x")
        try tx.webhooks.add(
            StoredWebhook(
                id: webhook, settings: settings, secret: "whsec_x", createdAt: now, cursor: 7),
            of: app)
        let deliveries = ["evt_1", "evt_2"].map {
            NewDelivery(message: $0, sequence: 1, kind: "renewed", stream: "ä", body: [1, 2])
        }
        try tx.deliveries.add(deliveries, to: webhook, of: app, at: now)
        let lease = try #require(
            try tx.deliveries.lease(
                to: webhook, of: app, dueBy: now, limit: 1, for: "me", lease: .seconds(9)
            ).first)
        let attempt = DeliveryAttempt(at: now, milliseconds: 3, status: 500, answer: "not now")
        try tx.deliveries.fail(lease, to: webhook, of: app, attempt, next: now + .seconds(60))
    }

    private func counts(_ store: Database) async throws -> [String: Int] {
        try await store.driver.read { connection in
            try CopiedTable.all.reduce(into: [:]) { counts, table in
                counts[table.name] = Int(
                    try connection.number("SELECT count(*) FROM \(table.name)"))
            }
        }
    }

    @Test(arguments: Way.all)
    fileprivate func `a copy to another kind of database has every row`(way: Way) async throws {
        try await way.from.withStore(rules: DatabaseRules(appsWithReminders: [app])) { source in
            try await fill(source)
            try await source.numberEvents()
            try await way.to.withStore { copy in
                let rows = try await copy.copy(from: source)
                let counts = try await counts(source)
                #expect(counts.filter { $0.value == 0 }.isEmpty, "every kind of row is tried")
                #expect(counts["documents"] == 1_102 && counts["events", default: 0] > 300)
                #expect(try await self.counts(copy) == counts)
                if way.to == .postgres {
                    #expect(try await copy.tables().contains("documents_2022_10"))
                }
                #expect(rows == counts.values.reduce(0, +))
                let told = try await copy.read { tx in
                    (
                        try tx.reminders.times(of: ["ä"], in: app, environment: .production),
                        try tx.consents.find(of: "ä", in: app),
                        try tx.consents.uses(of: "ä", in: app, environment: .sandbox),
                        try tx.inquiries.all(
                            about: [PurchaseID("1", in: .sandbox)], in: app),
                        try tx.wallets.reportedBalances(of: "ä", in: app, .production)
                    )
                }
                #expect(told.0.keys.map(\.daysBefore).sorted() == [1, 7])
                #expect(told.1?.isGiven == true && told.2.map(\.used) == [5, nil])
                #expect(told.3.map(\.inquiry.reason) == ["UNINTENDED_PURCHASE"])
                #expect(told.4 == ["gems": -1])
                let booked = try await copy.read {
                    try $0.bookings.all(of: "ä", "gems", in: app, environment: .production)
                }
                #expect(booked.map(\.signedAmount).sorted() == [-3, 2])
                let documents = try await copy.read {
                    try $0.documents.all(of: app, after: .start, limit: 2_000)
                }
                let originals = try await source.read {
                    try $0.documents.all(of: app, after: .start, limit: 2_000)
                }
                #expect(documents == originals)
                let link = try await copy.read {
                    try $0.links.find(of: PurchaseID("🙂", in: .production), in: app)
                }
                #expect(link?.customer == "🙂")
                #expect(
                    try await copy.read { try $0.events.epochs(of: app) }.current == "aaaaaaaaaa")
            }
        }
    }

    @Test func `a database that has rows cannot be the target of a copy`() async throws {
        try await Driver.sqliteMemory.withStore { source in
            try await Driver.sqliteMemory.withStore { copy in
                _ = try await copy.transaction {
                    try IdentityUpdates($0).customer("anna", in: app, at: now)
                }
                let failure = await #expect(throws: StorageFailure.self) {
                    try await copy.copy(from: source)
                }
                #expect(failure?.message.contains("customers") == true)
            }
        }
    }

    @Test func `if a row changes during the copy, the copy fails`() async throws {
        try await Driver.sqliteMemory.withStore { source in
            try await Driver.sqliteMemory.withStore { copy in
                try await source.keep(1)
                // This trigger changes a row of the target that was already copied.
                try await copy.driver.write { connection in
                    try connection.run(
                        "CREATE TRIGGER spoil AFTER INSERT ON facts BEGIN "
                            + "UPDATE documents SET received_at_ms = 5; END", [])
                    return
                }
                let failure = await #expect(throws: StorageFailure.self) {
                    try await copy.copy(from: source)
                }
                #expect(failure?.message.contains("documents differs after row 0") == true)
                // A server refuses to use the unfinished copy as a database.
                let refused = await #expect(throws: StorageFailure.self) {
                    try await copy.migrate(at: 0)
                }
                #expect(refused?.message.contains("was interrupted") == true)
            }
        }
    }

    @Test(arguments: [Driver.sqliteMemory])
    func `the list of copied tables has every table and every column`(driver: Driver) async throws {
        try await driver.withStore { store in
            let columns = try await store.driver.read { connection in
                try connection.rows(
                    "SELECT tables.name, columns.name FROM sqlite_master AS tables "
                        + "JOIN pragma_table_info(tables.name) AS columns "
                        + "WHERE tables.type = 'table' "
                        + "AND tables.name NOT IN "
                        + "('schema_versions', 'facts_rebuilt', 'write_probes')", []
                ) { row throws(StorageFailure) in "\(try row.text()).\(try row.text())" }
            }
            let found = Set(columns)
            let known = CopiedTable.all.flatMap { table in
                table.columns.map { "\(table.name).\($0)" }
            }
            #expect(found == Set(known))
        }
    }
}
