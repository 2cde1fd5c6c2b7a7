import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

// The groups and seats on the page of a customer, and the actions of support on them.

/// The groups and seats on the page of a customer, and the acts of support on them.
struct SeatPages: PageGroup {
    let routes: DashboardRoutes

    /// The maximum number of a group's members on the page of a customer.
    private static let membersOnPage = 10
    /// The maximum number of groups on the page of a customer.
    static let groupsOnPage = 3

    func add(to router: Router<ServerContext>) {
        let invitations = "/customers/{id}/groups/{original_transaction_id}/invitations"
        routes.act(invitations, for: .support, of: router, invite)
        routes.act(invitations + "/{invitation_id}/renew", for: .support, of: router, renew)
        routes.act(invitations + "/{invitation_id}/withdraw", for: .support, of: router) {
            page, _ in
            let withdrawn = try await engine.invitations.withdraw(
                try page.parameter("invitation_id"), of: try page.group,
                for: try page.customer, app: app)
            page.audit.change(to: withdrawn.auditState)
            return .done(.invitationWithdrawn, try page.path)
        }
        routes.act("/customers/{id}/seats/{claim_id}/release", for: .support, of: router) {
            page, _ in
            let claim = SeatClaimID(rawValue: try page.parameter("claim_id"))
            let ended = try await engine.seats.release(
                claim, for: try page.customer, isBySupport: true, app: app)
            page.audit.change(to: ["cause": ended.claim.end?.cause.rawValue])
            return .done(.seatReleased, try page.path)
        }
    }

    // MARK: - Page

    /// The groups that a customer pays for, newest first.
    func groups(of state: CustomerState, _ page: PageRequest) async throws -> [CustomerGroup] {
        var groups: [CustomerGroup] = []
        for purchase in state.seatPurchases.prefix(Self.groupsOnPage) {
            let id = purchase.timeline.purchase
            let isLater = page.query["group"] == id.original.rawValue
            let position = try (isLater ? page.query["members"] : nil).map { text in
                guard let cursor = ListCursor(text) else { throw ProblemError(.cursorUnknown) }
                return cursor
            }
            let group = try await engine.seats.group(
                of: id, for: nil, app: app, after: position, limit: Self.membersOnPage)
            let open = group.host == .developer
            groups.append(
                CustomerGroup(
                    group: SeatGroup(group, isForApp: false),
                    parts: group.seats > 0
                        ? purchase.timeline.seatPayments(at: state.asOf).map { .init($0) } : [],
                    invitations: open
                        ? try await engine.invitations.all(of: id, for: nil, app: app)
                            .map { PerennialContract.SeatInvitation($0) } : [],
                    isFirstPage: position == nil))
        }
        return groups
    }

    /// The seats that a customer has in the groups of others.
    func seats(of state: CustomerState) async throws -> [CustomerSeat] {
        var seats: [CustomerSeat] = []
        for purchase in state.purchases {
            guard let seat = purchase.timeline.seat,
                let period = purchase.timeline.period(at: state.asOf)
            else { continue }
            let purchaser = try await engine.seats.purchaser(of: seat.purchase, app: app)
            seats.append(
                CustomerSeat(
                    claimID: seat.claim.rawValue, productID: period.product.rawValue,
                    standing: SeatStanding(seat.standing), claimedAt: Timestamp(seat.since),
                    purchaserID: purchaser?.rawValue))
        }
        return seats
    }

    // MARK: - Invitations

    /// The page that shows the token, which is never shown again. A form that is sent twice makes
    /// one invitation. If the content of the form was changed in between, the second form makes
    /// another invitation.
    @Sendable private func invite(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        guard let key = form["key"] else {
            throw ProblemError(.requestNotUnderstood, detail: "The field “key” is missing.")
        }
        let customer = form.trimmed("customer_id")
        let days = form["days"] ?? ""
        var order = try NewInvitation(
            SeatInvitationRequest(
                customerID: customer, expiresInSeconds: try Self.seconds(ofDays: days)))
        order.key = try self.key([key, customer ?? "", days], page)
        return try await made(order, page)
    }

    private static func seconds(ofDays text: String) throws -> Int {
        guard let days = Int(text), (0...maxDays).contains(days) else {
            throw ProblemError(.invitationLifeOutOfRange)
        }
        return days * secondsOfDay
    }

    private static let secondsOfDay = 86_400
    /// The largest number of days that is converted to seconds. A larger number would be refused
    /// anyway.
    private static let maxDays = 1_000

    /// Makes an invitation that replaces an earlier one, for the same person and the same length of
    /// time. The earlier invitation can then no longer be used.
    @Sendable private func renew(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let id = try page.parameter("invitation_id")
        let open = try await engine.invitations.all(
            of: try page.group, for: try page.customer, app: app)
        guard let former = open.first(where: { $0.id == id }) else {
            throw EngineFailure.seatRefused(.unknownInvitation)
        }
        let order = NewInvitation(
            customer: former.customer, life: former.expiresAt - former.createdAt,
            key: try key(["renew", id], page))
        // The earlier invitation is withdrawn first, so that the two can never both be used.
        let withdrawn = try await engine.invitations.withdraw(
            id, of: try page.group, for: try page.customer, app: app)
        guard withdrawn.usedAt == nil else {
            throw EngineFailure.seatRefused(.unknownInvitation)
        }
        return try await made(order, page)
    }

    /// A key of a form about the group in the path.
    private func key(_ parts: [String], _ page: PageRequest) throws -> String {
        (["dashboard invitation", app.rawValue, "\(try page.group)"] + parts)
            .joined(separator: "\n")
    }

    /// Makes an invitation, and returns the page that shows its token.
    private func made(_ order: NewInvitation, _ page: PageRequest) async throws -> ActResult {
        let made = try await engine.invitations.invite(
            order, to: try page.group, for: try page.customer, isBySupport: true, app: app)
        page.audit.change(of: made.invitation.id, to: made.invitation.auditState)
        var invitation = PerennialContract.SeatInvitation(made.invitation)
        invitation.token = made.token
        return .page(
            InvitationPage(customerID: try page.customer.rawValue, invitation: invitation)
                .html(in: page.frame))
    }
}

extension PageRequest {
    /// The page of the customer in the path.
    fileprivate var path: DashboardPath {
        get throws { .customer(try customer.rawValue) }
    }

    /// The purchase in the path.
    fileprivate var group: PurchaseID {
        get throws {
            PurchaseID(
                TransactionID(rawValue: try parameter("original_transaction_id")), in: environment)
        }
    }
}

extension CustomerState {
    /// The purchases that pay for groups, newest first.
    var seatPurchases: [PurchaseState] {
        purchases.filter { $0.isOwn && $0.seats != nil }
            .sorted { $0.newestPayment > $1.newestPayment }
    }
}

extension PurchaseState {
    fileprivate var newestPayment: (Instant, TransactionID) {
        (
            timeline.periods.last?.from ?? Instant(milliseconds: 0),
            timeline.purchase.original
        )
    }
}

extension StoredInvitation {
    /// The values for the audit. These values do not name the customer, because an erasure would
    /// not replace the id there.
    fileprivate var auditState: [String: String?] {
        [
            "expires_at": Timestamp(expiresAt).description,
            "withdrawn_at": withdrawnAt.map { Timestamp($0).description },
        ]
    }
}

extension CustomerGroup.Part {
    init(_ payment: Payment) {
        let currency = payment.price?.currency
        self.init(
            at: Timestamp(payment.from), seats: payment.quantity,
            refunded: payment.seats?.refunded ?? 0,
            tiers: currency.map { currency in
                (payment.seats?.tiers ?? []).reversed().map {
                    .init(count: $0.count, price: .init(milliunits: $0.price, currency: currency))
                }
            } ?? [], paid: payment.netAmount.map { .init($0) })
    }
}
