import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage

// Worlds whose apps post receipts, for the whole trial or until an update.

extension Trial {
    /// The odds that a request after the update comes from a customer who has not updated.
    private static let oldVersionOdds = 0.2
    private static let transactionReceiptOdds = 0.15
    private static let guidOdds = 0.3
    static let receiptPath = "/verifyReceipt"

    /// Whether the app that posts next uses the modern APIs.
    func isModern() -> Bool {
        guard plan.clientEra != .modern else { return true }
        let isOld = eraRandom.happens(Self.oldVersionOdds)
        return appUpdate.isModern && !(isOld && isStormy)
    }

    /// Releases the app's new version, and configures an API key.
    func update() async {
        appUpdate.update()
        await simulator.setNotificationURLs(signed: Plan.address, v1: nil)
    }

    /// Returns only the notifications of a list that were signed after the update. The App Store
    /// made no version 2 notifications before the update.
    func sinceUpdate(_ body: [UInt8]) -> [UInt8] {
        guard let json = try? JSON(parsing: body), let members = json.members,
            json["notificationHistory"] != nil
        else { return body }
        return JSON.object(
            members.map { member in
                guard member.key == "notificationHistory" else { return member }
                let items = (member.value.array ?? []).filter { item in
                    let signed = item["signedPayload"]?.string.flatMap {
                        ObservedDocument(
                            notification: JSON.object([.init("signedPayload", .string($0))]).bytes)
                    }?.signedAt
                    return signed.map { $0 >= plan.updatesAt } ?? true
                }
                return JSON.Member(member.key, .array(items))
            }
        ).bytes
    }

    // MARK: - Devices

    /// Lets the app post its receipt, or sometimes only the receipt of its last transaction, as
    /// before iOS 7.
    func postReceipt(of name: String) async throws {
        let device = name + "-1"
        let isOfOne = eraRandom.happens(Self.transactionReceiptOdds)
        let tellsDevice = eraRandom.happens(Self.guidOdds)
        let isForged = eraRandom.happens(0.3)
        guard !(await groundTruth(of: name)).isEmpty else { return }
        let rows = try await simulator.receiptRows(on: device)
        guard let last = rows.last, let id = last.transactionID else { return }
        if appUpdate.isModern { report.tally.add("receipt posted after the update") }
        let moment = AppStoreDate(milliseconds: now)
        // There is no receipt of a consumable that was finished on another device. A device that is
        // offline may still list it.
        if isOfOne, isStormy, let text = try? await simulator.transactionReceipt(of: id) {
            report.tally.add("transaction receipt posted")
            return try await post(
                PurchaseEvidence(transactionReceipt: text),
                saying: [ObservedDocument(row: last, in: "a transaction receipt", moment)], of: name
            )
        }
        let receipt = try await simulator.receipt(on: device)
        var posted = PurchaseEvidence(appReceipt: sabotage?.altered(receipt: receipt) ?? receipt)
        if tellsDevice {
            posted.deviceGUID = try await simulator.vendorIdentifier(of: device)
        }
        if isForged, isStormy, plan.has(.forgeries) { try await postDamaged(posted, of: name) }
        report.tally.add("receipt posted")
        try await post(
            posted, saying: rows.map { ObservedDocument(row: $0, in: "a receipt", moment) },
            of: name)
    }

    /// Posts a receipt with one byte changed.
    private func postDamaged(_ evidence: PurchaseEvidence, of name: String) async throws {
        guard let server = anyServer(), let text = evidence.appReceipt,
            var bytes = ReceiptText.bytes(of: text)
        else { return }
        bytes[eraRandom.number(in: 60...bytes.count / 4)] ^= 1
        var damaged = evidence
        damaged.appReceipt = ReceiptText.text(of: bytes)
        do {
            _ = try await server.engine.recording.record(
                damaged, of: customer(of: name), app: TrialFixture.app)
        } catch {
            if server.process.isOn { report.tally.add("damaged receipt rejected") }
            return await scheduleRestarts()
        }
        throw violation("trust", "\(name): a receipt with an invalid signature was accepted")
    }

    // MARK: - Notifications

    /// Before a version 1 notification, sends a copy with another secret, which must be rejected.
    func sendForgery(of body: [UInt8], _ server: Server) async -> Violation? {
        guard plan.has(.forgeries), plan.clientEra != .modern, isStormy,
            eraRandom.happens(0.3), var json = try? JSON(parsing: body), json["password"] != nil
        else { return nil }
        json = JSON.object(
            (json.members ?? []).map { member in
                member.key == "password"
                    ? JSON.Member("password", .string("c0ffee00c0ffee00c0ffee00c0ffee01")) : member
            })
        do { _ = try await server.engine.recording.record(notification: json.bytes) } catch {
            if server.process.isOn { report.tally.add("forged version 1 notification rejected") }
            return nil
        }
        return violation("trust", "a version 1 notification was accepted without the secret")
    }

    // MARK: - Requests

    /// The client with which a server queries the App Store without an API key.
    func verification(
        _ number: Int, _ power: ServerProcess, _ now: @escaping @Sendable () -> Int64
    ) -> VerifyReceiptClient {
        VerifyReceiptClient(
            TrialFixture.secret, now: { AppStoreDate(milliseconds: now()) },
            send: sender(number, power))
    }

    /// The response of verifyReceipt to a server's request.
    func respond(receipt call: AppStoreCall) async throws -> DirectAPIResponse {
        let late = await lateResponseCount()
        let json = try await simulator.verifyReceipt(
            call.request.body ?? [], at: call.request.simulatedEnvironment)
        let status = json["status"]?.integer ?? -1
        report.log("asked by receipt: \(status)", at: now)
        report.tally.add("verifyReceipt said \(status)")
        report.statistics.questions += 1
        let letters = ObservedDocument.documents(answer: json.bytes)
        let purchases = Set(letters.compactMap(\.original))
        checkedPurchases.formUnion(purchases)
        for letter in letters { evidence.recordPossible(letter, at: now) }
        if status == 0 || status == 21006 { await extendHorizons(accountsOf: purchases) }
        try await requireOnTime(since: late)
        report.tally.add("verifyReceipt responded")
        // The server may crash after it has received the response.
        try await call.power.step(.atRequest)
        let body = sabotage?.altered(answer: json.bytes, at: now) ?? json.bytes
        return DirectAPIResponse(status: 200, body: body)
    }

    // MARK: - Ground truth

    /// Records the differences between answers and the ground truth, and excuses each until its
    /// purchase was checked. In a world that only uses receipts, answers cannot be correct at every
    /// moment: version 1 notifications do not report everything, and lost notifications cannot be
    /// requested. But an answer must be correct once the purchase was checked.
    func excuseUnchecked(_ books: [TruePurchase], _ state: CustomerState) async throws {
        guard plan.clientEra == .legacy else { return }
        let present = Instant(milliseconds: now)
        let answers = state.purchases.compactMap { PurchaseView($0, at: present) }
        for booked in books {
            let id = booked.originalTransactionID
            let truth = PurchaseView(booked)
            excused.remove(id)
            let isSame = answers.first { $0.original == id } == truth
            guard !isSame || state.isPayerUnknown(of: booked, at: now) else {
                differences[id] = nil
                continue
            }
            if differences[id]?.truth != truth { differences[id] = (truth, now) }
            let since = differences[id]?.at ?? now
            let known = try await checkHistory(of: booked)
            guard known?.askedAt.map({ $0.milliseconds <= since }) ?? true else { continue }
            excused.insert(id)
            report.tally.add("difference excused in a legacy world")
        }
    }

    /// Whether older documents leave the state of a purchase unknown: older documents do not
    /// contain commitments, whose payments the App Store tries to collect for a longer time. Access
    /// is shut in both the answer and the ground truth, but the two report different states.
    func isNotExpressible(_ booked: TruePurchase) -> Bool {
        plan.clientEra != .modern && booked.commitment != nil && booked.isInRetry
    }

    func checkHistory(of booked: TruePurchase) async throws -> CheckHistory? {
        let purchase = booked.purchase
        return try await Database(database).read { tx in
            try tx.checks.history(of: purchase, in: TrialFixture.app)?.history
        }
    }

    /// Checks every purchase, even if it is not due. After that no difference is excused.
    func reconcileAll() async throws {
        guard let server = anyServer() else { return }
        for name in accounts {
            for booked in await groundTruth(of: name) {
                let purchase = booked.purchase
                let outcome = try await server.engine.reconciliation.refresh(
                    purchase, app: TrialFixture.app)
                guard case .responded = outcome else {
                    throw violation("verbs", "\(purchase) could not be checked: \(outcome)")
                }
            }
        }
        for name in accounts {
            let books = await groundTruth(of: name)
            guard !books.isEmpty else { continue }
            (excused, uncheckedPurchases) = ([], [])
            try expectTruth(of: name, books, try await response(to: name, books))
        }
    }

    /// Expects every order of the ground truth to be known exactly once, with its refund if it has
    /// one. Older documents contain no price, so amounts are compared only for signed transactions.
    func expectOrders() async throws {
        for name in accounts {
            let books = await groundTruth(of: name)
            guard !books.isEmpty else { continue }
            let state = try await response(to: name, books)
            let payments = state.purchases.flatMap { purchase in
                purchase.timeline.periods.map(\.payment).filter {
                    $0.ownership == .purchased && !hasUnknownPayer($0, of: purchase, in: books)
                }
            }
            let ours = Dictionary(grouping: payments) { $0.line ?? $0.transaction.rawValue }
            guard ours.values.allSatisfy({ $0.count == 1 }) else {
                throw violation("money", "\(name): an order is counted twice")
            }
            let charges = creditable(books).flatMap(\.charges)
            for charge in charges {
                let order = charge.webOrderLineItemID ?? charge.transactionID
                guard let payment = ours[order]?.first else {
                    throw violation("money", "\(name): \(order) is unknown")
                }
                guard let wrong = payment.differs(from: charge) else { continue }
                throw violation("money", "\(name): \(order): \(wrong)")
            }
            let orders = Set(charges.map { $0.webOrderLineItemID ?? $0.transactionID })
            let strange = Set(ours.keys).subtracting(orders)
            guard strange.isEmpty else {
                throw violation("money", "\(name): \(strange) are not orders")
            }
        }
    }

    /// Whether a payment of a family member was reported only by transaction receipts and responses
    /// about them. Such documents do not say who has paid, so the named customer counts as the
    /// payer.
    private func hasUnknownPayer(
        _ payment: Payment, of purchase: PurchaseState, in books: [TruePurchase]
    ) -> Bool {
        let original = purchase.timeline.purchase.original.rawValue
        let isShared = books.contains {
            $0.originalTransactionID == original && $0.ownership == .familyShared
        }
        return isShared && !evidence.shared.contains(payment.transaction.rawValue)
    }

    // MARK: - Milestones

    /// The milestones of a subscription.
    enum Milestone: String, CaseIterable {
        case refund
        case renewal
        case grace
        case upgrade
        case family
    }

    func recordMilestones(in state: CustomerState) {
        for purchase in state.purchases {
            for sight in purchase.milestones where milestones.insert(sight.rawValue).inserted {
                report.tally.add("\(plan.clientEra.rawValue): \(sight.rawValue)")
            }
        }
    }
}

extension PurchaseState {
    fileprivate var milestones: [Trial.Milestone] {
        var sights: [Trial.Milestone] = []
        let payments = timeline.periods.map(\.payment)
        if payments.contains(where: { $0.revocation?.kind == .refund && !$0.isUpgraded }) {
            sights.append(.refund)
        }
        if payments.contains(where: \.isRenewal) { sights.append(.renewal) }
        if access?.state == .grace { sights.append(.grace) }
        if payments.contains(where: \.isUpgraded) { sights.append(.upgrade) }
        if payments.contains(where: { $0.ownership == .familyShared }) { sights.append(.family) }
        return sights
    }
}

extension Payment {
    /// How the payment differs from the ground truth's charge. Returns nil if they are equal.
    fileprivate func differs(from charge: TrueCharge) -> String? {
        if let price, price.milliunits != charge.amount || price.currency != charge.currency {
            return "the ground truth has \(charge.amount) \(charge.currency), the answer \(price)"
        }
        // An upgrade's refund is reported by the old transaction, if at all.
        if isUpgraded || (charge.refundedAt != nil) == (revocation != nil) { return nil }
        let known = revocation == nil ? "nothing" : "a refund"
        return "\(charge.refunded) were refunded, and \(known) is known of it"
    }
}

extension CustomerState {
    /// Whether the answer names the family member as the payer, because no document names the real
    /// payer. A notification in the form of 2018 does not name the payer: see docs/legacy.md. The
    /// response to a receipt names the payer.
    ///
    /// - Parameter now: in milliseconds since 1970.
    fileprivate func isPayerUnknown(of booked: TruePurchase, at now: Int64) -> Bool {
        guard booked.ownership == .familyShared, booked.isOpen else { return false }
        let ours = purchases.first { $0.timeline.purchase == booked.purchase }
        return ours.map { $0.timeline.seats(at: Instant(milliseconds: now)) > 0 } ?? false
    }
}
