import Crypto
import Foundation
import Ledger
import Storage

/// The secret of an invitation: 128 random bits in hexadecimal. The database contains only its
/// SHA-256, which is safe, because nobody can try out 128 bits.
enum InvitationToken {
    private static let digits = 32

    static func new() -> String { IdempotencyKey.digits(for: nil, count: digits) }

    static func digest(of token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }
}

/// An invitation that the purchaser or the app's server makes.
package struct NewInvitation: Hashable, Sendable {
    /// The customer who may use the invitation. Nil if any customer who has the token may use it.
    package var customer: CustomerID?
    package var life: Duration
    /// The idempotency key, under which only one invitation is made. If nil, each request makes
    /// another invitation.
    package var key: String?

    package static let lifeDefault = Duration.days(7)
    package static let lifeMin = Duration.seconds(60)
    package static let lifeMax = Duration.days(30)

    package init(
        customer: CustomerID? = nil, life: Duration = Self.lifeDefault, key: String? = nil
    ) {
        self.customer = customer
        self.life = life
        self.key = key
    }

    private static let idDigits = 32

    /// The id of the invitation: derived from the idempotency key, or random if there is no key.
    fileprivate var id: String {
        guard let key else { return UUID().uuidString.lowercased() }
        return IdempotencyKey.digits(for: key, count: Self.idDigits)
    }
}

/// An invitation, and whether this request made it.
private struct MadeInvitation: Sendable {
    var invitation: StoredInvitation
    var isNew: Bool
}

/// Invitations to take a seat.
package struct InvitationService: Sendable {
    let context: Context

    /// The maximum number of invitations of one purchase that can be used.
    package static let openInvitationsMax = 1_000

    /// Makes an invitation to the group that a purchase pays for. Idempotent only if the order has
    /// a key.
    ///
    /// - Parameters:
    ///   - speaker: the customer on whose behalf the request is made, who must have the purchase;
    ///     nil for the app's server.
    ///   - isBySupport: whether support makes the request, not an app. A request by support does
    ///     not count against the app's limit.
    /// - Returns: the invitation, and its token, which is not stored. The token is nil if an
    ///   earlier request with the same key made the invitation.
    package func invite(
        _ order: NewInvitation, to purchase: PurchaseID, for speaker: CustomerID?,
        isBySupport: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> (invitation: StoredInvitation, token: String?) {
        let (app, _) = try context.app(appID)
        try order.customer?.requireValid()
        let now = context.now()
        let isByApp = speaker != nil && !isBySupport
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let token = InvitationToken.new()
        let invitation = StoredInvitation(
            id: order.id, purchase: purchase, customer: order.customer,
            createdAt: now, expiresAt: now + order.life)
        let made = try await context.decide { tx -> Decision<MadeInvitation> in
            guard
                let timeline = try SeatDecisions(tx).timeline(
                    of: purchase, paidBy: speaker, in: appID)
            else {
                return .refused(.unknownPurchase(purchase))
            }
            if let earlier = try tx.seatInvitations.find(invitation.id, in: appID) {
                return .unchanged(MadeInvitation(invitation: earlier, isNew: false))
            }
            if let why = SeatDecisions(tx).refusal(of: timeline, in: app, at: now) {
                return .refused(.seatRefused(why))
            }
            let open = try tx.seatInvitations.all(of: purchase, in: appID).count {
                $0.isOpen(at: now)
            }
            guard open < Self.openInvitationsMax else {
                return .refused(
                    .seatRefused(.tooManyInvitations(limit: Self.openInvitationsMax)))
            }
            if let wait { return .refused(.growthBudgetExhausted(wait: wait)) }
            try tx.seatInvitations.insert(
                invitation, digest: InvitationToken.digest(of: token), in: appID)
            return .done(MadeInvitation(invitation: invitation, isNew: true))
        }
        if isByApp { context.growth.add(1, of: app, at: now) }
        return (made.invitation, made.isNew ? token : nil)
    }

    /// The invitations of a purchase that can be used, the newest first.
    ///
    /// - Parameter speaker: as in ``invite(_:to:for:isBySupport:app:)``.
    package func all(
        of purchase: PurchaseID, for speaker: CustomerID?, app appID: AppID
    ) async throws(EngineFailure) -> [StoredInvitation] {
        _ = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            guard try SeatDecisions(tx).timeline(of: purchase, paidBy: speaker, in: appID) != nil
            else {
                throw EngineFailure.unknownPurchase(purchase)
            }
            return try tx.seatInvitations.all(of: purchase, in: appID).filter { $0.isOpen(at: now) }
        }
    }

    /// Withdraws an invitation, so that nobody can use it. Idempotent. An invitation that was used
    /// is not changed.
    ///
    /// - Parameter speaker: as in ``invite(_:to:for:isBySupport:app:)``.
    package func withdraw(
        _ id: String, of purchase: PurchaseID, for speaker: CustomerID?, app appID: AppID
    ) async throws(EngineFailure) -> StoredInvitation {
        _ = try context.app(appID)
        let now = context.now()
        return try await context.decide { tx in
            guard try SeatDecisions(tx).timeline(of: purchase, paidBy: speaker, in: appID) != nil
            else {
                return .refused(.unknownPurchase(purchase))
            }
            guard var invitation = try tx.seatInvitations.find(id, in: appID),
                invitation.purchase == purchase
            else { return .refused(.seatRefused(.unknownInvitation)) }
            guard invitation.usedAt == nil, invitation.withdrawnAt == nil else {
                return .unchanged(invitation)
            }
            try tx.seatInvitations.withdraw(invitation, in: appID, at: now)
            invitation.withdrawnAt = now
            return .done(invitation)
        }
    }
}
