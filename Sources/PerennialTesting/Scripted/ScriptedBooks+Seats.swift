internal import AccessRules
internal import Foundation
internal import Perennial
internal import PerennialContract

/// A group whose members the app invites: the invitations that the purchaser has created, and the
/// members who have joined.
struct ScriptedGroup: Sendable {
    /// The members in the order in which they joined.
    var members: [Perennial.SeatMember] = []
    /// The invitations with their tokens, newest first.
    var invitations: [Perennial.SeatInvitation] = []
}

/// A seat in a group for which another person pays.
struct ScriptedMembership: Sendable {
    var claim: String
    var product: Perennial.ProductID
    var since: Timestamp

    var subscription: Perennial.Subscription {
        Perennial.Subscription(
            id: claim, product: product, state: .paid, from: since.date, ownership: .assigned,
            seat: .init(id: claim, standing: .held))
    }
}

// MARK: - Buying seats

extension ScriptedBooks {
    /// Why a number of seats cannot be bought. Nil if this number can be bought.
    func refusal(of seats: Int, _ id: Perennial.ProductID) -> Perennial.Failure? {
        guard seats >= 1 else { return .seatsNotPositive }
        guard let product = product(id), product.isSoldInSeats else {
            return Perennial.Failure(StoreError.seatsNotSold)
        }
        guard let running = running(id) else { return nil }
        let present = transactions.seats(inPeriodOf: running) ?? 1
        if seats < present { return Perennial.Failure(StoreError.seatReduction) }
        return seats == present ? .seatsUnchanged(seats) : nil
    }

    /// The latest period of a product for which the customer pays. Nil if that period has ended.
    private func running(_ id: Perennial.ProductID) -> StoreTransaction? {
        transactions.last {
            $0.product == id && isRunning($0) && isTheirs($0) && $0.details.ownership == nil
        }
    }

    /// Adds seats to the present period, up to a total. Returns the id of the new transaction, or
    /// nil if the subscription is not active.
    mutating func addSeats(for total: Int, of product: Perennial.Product) -> String? {
        guard let part = running(product.id) else { return nil }
        let present = transactions.seats(inPeriodOf: part) ?? 1
        let added = StoreTransaction(
            id: "\(transactions.count + 1)", originalID: part.originalID,
            productID: part.productID, kind: .renewing, purchasedAt: now,
            expiresAt: part.expiresAt, quantity: total - present,
            seats: .init(bought: total - present), signedAt: now, firstSeenFor: part.firstSeenFor)
        transactions.append(added)
        renewals[part.originalID]?.seats = nil
        renewals[part.originalID]?.signedAt = now
        return added.id
    }

    /// The number of seats of the next period. Nil unless the customer pays for seats.
    func seatsAtRenewal(after transaction: StoreTransaction) -> Int? {
        transactions.seats(inPeriodOf: transaction).map { present in
            renewals[transaction.originalID]?.seats ?? present
        }
    }

    mutating func planSeats(_ seats: Int, of id: Perennial.ProductID) {
        guard let part = running(id), seats >= 1 else { return }
        renewals[part.originalID]?.seats = seats
        renewals[part.originalID]?.signedAt = now
    }

    /// Refunds single seats: first the seats of the newest payment for the period, then the seats
    /// of earlier payments.
    mutating func refundSeats(_ count: Int, of id: Perennial.ProductID) {
        guard let running = running(id) else { return }
        var wanted = count
        for index in transactions.indices.reversed()
        where transactions[index].isPart(ofPeriodOf: running) {
            let taken = min(max(0, wanted), transactions[index].seatsLeft)
            guard taken > 0 else { continue }
            wanted -= taken
            transactions[index].seats?.revoked += taken
            transactions[index].signedAt = now
            if transactions[index].seats == nil || transactions[index].seatsLeft == 0 {
                transactions[index].revokedAt = now
            }
        }
        stopRenewing(ifNothingIsLeftOf: running)
    }

    mutating func stopRenewing(ifNothingIsLeftOf transaction: StoreTransaction) {
        let isLeft = transactions.contains {
            $0.isPart(ofPeriodOf: transaction) && $0.revokedAt == nil && !$0.isUpgraded
        }
        if !isLeft { renewals[transaction.originalID]?.isOn = false }
    }
}

// MARK: - Members of the customer's groups

extension ScriptedBooks {
    private static let invitationSeconds: TimeInterval = 7 * 86_400
    static let groupUnknown = Perennial.Failure(
        "purchase_unknown", remedy: "Buy it with `seats` first, and pass an id of `groups`.")

    func seatGroup(_ id: String) -> Perennial.SeatGroup? {
        guard
            let period = transactions.filter({ $0.originalID == id && isTheirs($0) }).latestPeriod,
            let bought = transactions.seats(inPeriodOf: period)
        else { return nil }
        let seats = isRunning(period) ? bought : 0
        // The purchaser uses one seat of the group.
        let places = max(0, seats - 1)
        let group = groups[id] ?? ScriptedGroup()
        var members = group.members
        for rank in members.indices where rank >= places { members[rank].standing = .waiting }
        return Perennial.SeatGroup(
            id: id, product: period.product, host: .developer, seats: seats,
            seatsAtRenewal: isRunning(period) ? seatsAtRenewal(after: period) : nil,
            available: max(0, places - members.count), members: members,
            invitations: group.invitations.filter { $0.expires > now.date }.map { invitation in
                var shown = invitation
                shown.token = nil
                return shown
            },
            until: isRunning(period) ? period.expiresAt?.date : nil)
    }

    /// Creates an invitation to a group of the customer. Nil if the customer has no such group.
    mutating func invite(
        to id: String, for invited: String?, within seconds: TimeInterval?
    ) -> Perennial.SeatInvitation? {
        guard seatGroup(id) != nil else { return nil }
        let invitation = Perennial.SeatInvitation(
            id: newID("invitation"), token: newID("token"), customer: invited,
            expires: now.date.addingTimeInterval(seconds ?? Self.invitationSeconds))
        groups[id, default: ScriptedGroup()].invitations.insert(invitation, at: 0)
        return invitation
    }

    mutating func withdraw(_ invitation: String, of id: String) {
        groups[id]?.invitations.removeAll { $0.id == invitation }
    }

    /// Lets another person join a group of the customer. Returns false if the token is not valid,
    /// or if no seat is free.
    mutating func join(_ token: String, as customer: String) -> Bool {
        for id in groups.keys {
            guard
                let invitation = groups[id]?.invitations.first(where: {
                    $0.token == token && $0.expires > now.date
                        && ($0.customer == nil || $0.customer == customer)
                }), let group = seatGroup(id), (group.available ?? 0) > 0
            else { continue }
            withdraw(invitation.id, of: id)
            let member = Perennial.SeatMember(
                id: newID("claim"), customer: customer, standing: .held, since: now.date)
            groups[id]?.members.append(member)
            return true
        }
        return false
    }

    /// Ends a claim: the customer's own claim, or a claim in the customer's group.
    mutating func release(_ claim: String) {
        memberships[customer.id]?.removeAll { $0.claim == claim }
        for id in groups.keys { groups[id]?.members.removeAll { $0.id == claim } }
    }

    private mutating func newID(_ kind: String) -> String {
        idsMade += 1
        return "\(kind)-\(idsMade)"
    }
}

// MARK: - The customer's seats in other groups

extension ScriptedBooks {
    /// The entitlements that seats in other people's groups open.
    var seatRights: [String: ServerEvidence.Right] {
        var rights: [String: ServerEvidence.Right] = [:]
        for membership in memberships[customer.id] ?? [] {
            for entitlement in product(membership.product)?.entitlements ?? [] {
                rights[entitlement.rawValue] = ServerEvidence.Right(
                    isActive: true, state: .paid, until: nil,
                    productID: membership.product.rawValue,
                    originalTransactionID: membership.claim)
            }
        }
        return rights
    }

    /// Lets another purchaser invite the customer. Returns the invitation's token.
    mutating func inviteByAnother(to product: Perennial.ProductID) -> String {
        let token = newID("token")
        invitationsOfOthers[token] = product
        return token
    }

    /// Lets the customer join by an invitation. Returns false if the token is not valid.
    mutating func claim(_ token: String) -> Bool {
        guard let product = invitationsOfOthers.removeValue(forKey: token) else { return false }
        let membership = ScriptedMembership(claim: newID("claim"), product: product, since: now)
        memberships[customer.id, default: []].append(membership)
        return true
    }

    /// Removes the customer from the seat, as the purchaser of the other group does.
    mutating func removeMembership(in product: Perennial.ProductID) {
        memberships[customer.id]?.removeAll { $0.product == product }
    }

    /// Gives the customer a seat for which another customer pays, as the App Store does.
    mutating func assign(_ id: Perennial.ProductID) {
        deliver(id, .init(offer: nil))
        guard let last = transactions.indices.last else { return }
        transactions[last].details = .init(ownership: "ASSIGNED")
        transactions[last].offer = .none
    }

    mutating func unassign(_ id: Perennial.ProductID) {
        for index in transactions.indices
        where transactions[index].product == id && isRunning(transactions[index])
            && transactions[index].details.ownership == "ASSIGNED"
        {
            transactions[index].revokedAt = now
            transactions[index].isRevokedByFamily = true
            transactions[index].signedAt = now
            renewals[transactions[index].originalID]?.isOn = false
        }
    }
}
