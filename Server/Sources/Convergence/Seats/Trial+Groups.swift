import AppStoreFormats
import Engine
import Ledger
import Simulator

// A group: a person who buys several seats, and two colleagues who each get a seat, by invitation
// or from an organization. Random customers also form groups, but too seldom to meet every fault.

extension Trial {
    private static let purchaser = "purchaser"
    private static let colleagues = ["colleague", "trainee"]
    private static let organization = "acme"
    /// The products that this group buys in seats.
    private static let products = ["tiers.silver", "tiers.gold", "weeks.one", "family.monthly"]
    private static let actsMost = 16
    /// The odds that another act follows at the same moment.
    private static let atOnceOdds = 0.15

    // MARK: - The plan

    func addGroup() async throws {
        guard plan.sellsSeats else { return }
        for name in [Self.purchaser] + Self.colleagues {
            try await simulator.addDevice(account: name)
            accounts.append(name)
        }
    }

    func scheduleGroup(_ start: Int64, _ length: Int64) {
        guard plan.sellsSeats else { return }
        for _ in 0..<groupRandom.number(in: 3...Self.actsMost) {
            let at = plan.moment(start + Int64(groupRandom.fraction() * Double(length)))
            repeat { schedule.add(.group, at: at) } while groupRandom.happens(Self.atOnceOdds)
        }
    }

    // MARK: - What they do

    /// Makes a random change to the group. The App Store may reject the change, because all seats
    /// are taken or the period is over. That is not a failure.
    func actInGroup() async {
        let number = groupRandom.number(in: 0...17)
        let count = Int64(groupRandom.number(in: 1...4))
        let product = groupRandom.pick(Self.products) ?? ""
        let colleague = groupRandom.pick(Self.colleagues) ?? ""
        let chains = await groundTruth(of: Self.purchaser).filter { $0.renewsTo != nil }
        do {
            guard let group = chains.last(where: { $0.isOpen && $0.seats != nil }) else {
                return try await order(product, seats: count + 1)
            }
            let id = group.originalTransactionID
            let past = groupRandom.pick(group.charges)
            let present = group.seats?.count ?? 1
            switch number {
            case 0...2: try await order(group.productID, seats: present + count)
            case 3: try await simulator.change(id, .changeSeats(min(count, present)))
            case 4, 5: try await simulator.change(id, .refundSeats(min(count, present)))
            case 6...8: try await simulator.change(id, .joinGroup(colleague))
            case 9: try await simulator.change(id, .leaveGroup(colleague))
            case 10, 11: try await organization(.assign, product, colleague)
            case 12: try await organization(.unassign, product, colleague)
            case 13: try await simulator.change(id, .refund(of: past?.transactionID))
            case 14: try await simulator.change(id, .reverseRefund(of: past?.transactionID))
            case 15: try await simulator.change(id, .cancel)
            case 16: try await simulator.change(id, .resume)
            default: try await order(product, seats: present + count - 1)
            }
            report.tally.add("act in a group")
        } catch { report.tally.add("act in a group rejected by the App Store") }
    }

    private func order(_ product: String, seats: Int64) async throws {
        let order = PurchaseOrder(product, offerID: PurchaseOrder.noOffer, seats: seats)
        try await simulator.purchase(order, on: Self.purchaser + "-1")
        report.tally.add("seats bought")
    }

    private func organization(
        _ verb: OrganizationVerb, _ product: String, _ account: String
    ) async throws {
        try await simulator.changeOrganization(
            Self.organization, verb, product, account: account)
    }

    // MARK: - Expectations

    /// Expects that the server and the books agree on the number of paid seats. During a grace
    /// period, no seat is paid for.
    func expectSeats(of name: String, _ books: [TruePurchase], _ state: CustomerState) throws {
        let present = Instant(milliseconds: now)
        for booked in books where booked.renewsTo != nil && !booked.isInGrace {
            let ours = state.purchases.first { $0.timeline.purchase == booked.purchase }
            guard let ours else { continue }
            // After a refund is reversed, two periods can run at the same time.
            guard ours.timeline.runningPeriods(at: present) < 2 else { continue }
            let isOwn = booked.ownership == .purchased && booked.isOpen
            let expected = isOwn ? booked.seats?.count ?? 1 : 0
            let found = Int64(ours.timeline.seats(at: present))
            guard found == expected else {
                throw violation(
                    "seats",
                    "\(name): \(booked.originalTransactionID) has \(expected) seats, the answer "
                        + "\(found)")
            }
            if expected > 1 { report.tally.add("seats compared") }
            if isOwn, booked.seats != nil { try expectPlannedSeats(of: booked, ours, of: name) }
            if booked.ownership == .assigned, booked.isOpen {
                report.tally.add("member has access")
            }
        }
    }

    /// Expects that the server and the books agree on the number of seats of the next period. If
    /// one seat is planned, the server names this plan only if there were several seats before.
    private func expectPlannedSeats(
        of booked: TruePurchase, _ ours: PurchaseState, of name: String
    ) throws {
        let planned = booked.seats?.atRenewal
        let found = ours.timeline.seatsAtRenewal(at: Instant(milliseconds: now)).map { Int64($0) }
        guard found == planned || found == nil && planned == 1 else {
            throw violation(
                "seats",
                "\(name): \(booked.originalTransactionID) renews with \(planned ?? 0) seats, the "
                    + "answer \(found ?? 0)")
        }
        if planned.map({ $0 > 1 }) ?? false { report.tally.add("planned seats compared") }
    }
}

extension Timeline {
    /// How many periods run at a moment. Added seats belong to the period before them, even if that
    /// period has no other seats left.
    fileprivate func runningPeriods(at moment: Instant) -> Int {
        var running: Set<Instant> = []
        var begin: Instant?
        for period in periods where !period.isVoid {
            if !period.isAddition { begin = period.from }
            let isRunning =
                period.from <= moment && period.openUntil.map { moment < $0 } ?? true
            if isRunning, let begin { running.insert(begin) }
        }
        return running.count
    }
}
