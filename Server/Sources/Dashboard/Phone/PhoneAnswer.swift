import PerennialContract

/// What the customer may use, in one sentence, and whether it agrees with the simulated App Store's
/// records.
struct PhoneAnswer: Hashable, Sendable {
    var line: Markup
    /// The class of the panel: empty, `warn`, `bad` or `shut`.
    var look: Markup
    var chip: Chip
    /// How the answer contradicts the simulated App Store's records. Nil if the two agree.
    var contradiction: String?

    init(_ state: PhoneState) {
        let name = Markup.id(state.customer.customerID)
        guard let access = state.access else {
            (line, look) = ("\(name) \(Self.nothing(state))", "shut")
            chip = Chip("nothing", .shut)
            contradiction = Self.contradiction(state)
            return
        }
        let may: Markup = access.active ? "has access to" : "has no access to"
        line = "\(name) \(may) <b>\(.bdi(state.entitlement))</b>\(Self.reason(access, state))"
        look = Self.panelClass(of: access)
        chip = Chip(access.state)
        contradiction = Self.contradiction(state)
    }

    private static func nothing(_ state: PhoneState) -> Markup {
        let other = state.customer.entitlements.filter(\.value.active).keys.min()
        if let other {
            return "has access to <b>\(.bdi(other))</b>, but not to \(.bdi(state.entitlement))."
        }
        if let unlisted = state.customer.unlistedProducts?.first {
            return """
                has no access: \(.bdi(unlisted.productID)) was bought, and perennial.yaml does \
                not list it. Add <code>\(.bdi(unlisted.line))</code>.
                """
        }
        if state.pending != nil { return "has no access yet: a parent is asked." }
        guard state.customer.wallets.contains(where: { $0.value.balance > 0 }) else {
            return "has no access yet: she has bought nothing."
        }
        return "has no access yet: she has bought nothing that lasts."
    }

    private static func reason(_ access: Entitlement, _ state: PhoneState) -> Markup {
        let until = moment(access.until)
        return switch access.state {
        case .trial:
            ": a free trial until \(until), then \(paysOrEnds(access))."
        case .offer: ": at the price of an offer until \(until), then \(follows(access, state))."
        case .paid: ": paid until \(until), then \(follows(access, state))."
        case .grace: " until \(until): her card was refused, and Apple grants time."
        case .unconfirmed: " until \(until): it should have renewed, and Apple has not said so yet."
        case .owned: ": it is hers to keep."
        case .granted:
            access.until == nil ? ": it was given to her." : " until \(until): it was given to her."
        case .retry: ": her card is still refused. Apple tries until \(retryEnd(state))."
        case .refunded: ": Apple gave her money back on \(refundedAt(state) ?? until)."
        case .revoked: ": it is no longer shared with her."
        default: ": it ended on \(until)\(why(state))."
        }
    }

    private static func paysOrEnds(_ access: Entitlement) -> Markup {
        access.willRenew == true ? "she pays" : "it ends"
    }

    private static func follows(_ access: Entitlement, _ state: PhoneState) -> Markup {
        let next = state.customer.subscriptions.first { $0.purchaseID == access.purchaseID }?
            .renewsTo
        guard let next, next != access.productID else {
            return access.willRenew == true ? "it renews" : "it ends"
        }
        return access.willRenew == true
            ? "it continues as \(.bdi(next))" : "it changes to \(.bdi(next))"
    }

    private static func retryEnd(_ state: PhoneState) -> Markup {
        state.subscription?.retryUntil.map { Markup(text: CivilTime($0).date) } ?? "the end"
    }

    private static func refundedAt(_ state: PhoneState) -> Markup? {
        let refund = state.events.last {
            $0.type == .refunded && $0.after?.active == false
        }
        return refund.map { moment($0.at) }
    }

    private static func why(_ state: PhoneState) -> Markup {
        switch state.events.last(where: { $0.type == .expired })?.why {
        case "cancelled": ", as she had cancelled"
        case "billing": ", as the payment never came"
        default: ""
        }
    }

    private static func moment(_ timestamp: Timestamp?) -> Markup {
        guard let timestamp else { return "a time that Apple has not said" }
        let civil = CivilTime(timestamp)
        return "\(civil.date), \(civil.clock) UTC"
    }

    private static func panelClass(of access: Entitlement) -> Markup {
        switch access.state {
        case .grace, .unconfirmed: "warn"
        case .refunded, .revoked: "bad"
        default: access.active ? "" : "shut"
        }
    }

    /// Compares the server's answer with the simulated App Store's records, which the server cannot
    /// see.
    private static func contradiction(_ state: PhoneState) -> String? {
        let answered = Set(
            state.customer.subscriptions.filter { opens($0.state) }.map(\.originalTransactionID))
        let own = state.books.filter { state.product($0.productID)?.period != nil }
        let booked = Set(own.filter(\.isOpen).map(\.originalTransactionID))
        guard answered != booked else { return nil }
        return booked.subtracting(answered).isEmpty
            ? "Apple’s books say that it is closed." : "Apple’s books say that it is open."
    }

    private static let openStates: Set<AccessState> = [
        .paid, .trial, .offer, .grace, .unconfirmed,
    ]

    private static func opens(_ state: AccessState) -> Bool { openStates.contains(state) }
}
