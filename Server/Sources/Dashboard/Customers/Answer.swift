import PerennialContract

/// What a customer may use now and why, in one sentence that support can send to them.
struct Answer {
    /// The text, with the names of entitlements in bold.
    private(set) var markup = Markup.empty
    /// The sentence without markup, to be copied.
    private(set) var text = ""
    /// The class of the panel: empty if something is open and not at risk.
    private(set) var look: Markup = ""

    /// The maximum number of entitlements in one sentence.
    static let namedMax = 3

    private let customer: Customer

    init(_ customer: Customer, in frame: Frame) {
        self.customer = customer
        let sorted = customer.entitlements.sorted { Self.rank($0) < Self.rank($1) }
        let open = sorted.filter(\.value.active)
        text += customer.customerID
        markup += .id(customer.customerID)
        if let only = open.first, open.count == 1 {
            add(" has access to ")
            add(only.key, isBold: true)
            add(clause(only.value, in: frame))
        } else if !open.isEmpty {
            add(" has access to ")
            list(open, in: frame)
        } else if let last = sorted.first {
            add(" has no access: ")
            add(ending(last.value, of: last.key, in: frame))
        } else if let unlisted = customer.unlistedProducts, !unlisted.isEmpty {
            let names = unlisted.map(\.productID).joined(separator: ", ")
            add(" has no access: \(names) was bought, and perennial.yaml does not list it")
        } else {
            add(" has no access yet")
        }
        add(".")
        look = Self.panelClass(of: open.isEmpty ? sorted.first?.value : Self.weakest(open))
    }

    private mutating func add(_ words: String, isBold: Bool = false) {
        text += words
        markup += isBold ? "<b>\(.bdi(words))</b>" : .bdi(words)
    }

    private mutating func list(_ open: [(key: String, value: Entitlement)], in frame: Frame) {
        for (index, entitlement) in open.prefix(Self.namedMax).enumerated() {
            if index > 0 { add(index == open.count - 1 ? " and " : ", ") }
            add(entitlement.key, isBold: true)
            add(" (\(remark(entitlement.value, in: frame)))")
        }
        if open.count > Self.namedMax { add(" and \(open.count - Self.namedMax) more") }
    }

    /// The order of entitlements. Open entitlements come first, beginning with the one that may be
    /// lost soonest, because people usually ask about that one. Closed entitlements follow. Among
    /// these, the first are those whose payment the App Store still tries to collect. The others
    /// are sorted by their end, the latest first.
    private static func rank(_ entry: (key: String, value: Entitlement)) -> (Int, Int64, String) {
        let until = entry.value.until?.milliseconds ?? Int64.max
        if entry.value.active { return (0, until, entry.key) }
        return (entry.value.state == .retry ? 1 : 2, -until, entry.key)
    }

    private static func weakest(_ open: [(key: String, value: Entitlement)]) -> Entitlement? {
        (open.first { $0.value.state == .grace || $0.value.state == .unconfirmed } ?? open.first)?
            .value
    }

    private static func panelClass(of entitlement: Entitlement?) -> Markup {
        guard let entitlement else { return " shut" }
        if entitlement.active {
            return [.grace, .unconfirmed].contains(entitlement.state) ? " warn" : ""
        }
        return [.refunded, .revoked].contains(entitlement.state) ? " bad" : " shut"
    }
}

// MARK: - Words

extension Answer {
    /// The text after “cleo has access to pro”.
    private func clause(_ entitlement: Entitlement, in frame: Frame) -> String {
        let until = entitlement.until.map { " until \(frame.longTime($0))" } ?? ""
        return switch entitlement.state {
        case .grace:
            until + ": the card was refused\(refusal(entitlement, in: frame)), and Apple grants a "
                + "grace period while it keeps trying"
        case .unconfirmed:
            until + ": Apple has not said yet whether it was renewed, and it is held open"
        default: ": " + remark(entitlement, in: frame)
        }
    }

    /// Why an entitlement is open, in a few words: `paid until …, then renews`.
    func remark(_ entitlement: Entitlement, in frame: Frame) -> String {
        let until = entitlement.until.map { " until \(frame.longTime($0))" } ?? ", without end"
        return switch entitlement.state {
        case .paid: "\(payment(of: entitlement))\(until)\(continuation(of: entitlement))"
        case .trial: "free\(until)\(continuation(of: entitlement))"
        case .offer: "on an offer\(until)\(continuation(of: entitlement))"
        case .owned: "bought, to keep"
        case .granted: "granted\(until)"
        case .grace: "grace\(until), not paid"
        case .unconfirmed: "held open\(until), not confirmed"
        default: "\(entitlement.state.rawValue)\(until)"
        }
    }

    private func payment(of entitlement: Entitlement) -> String {
        subscription(of: entitlement)?.ownership == .assigned
            ? "a seat, paid for by somebody else" : "paid"
    }

    /// The words for what follows after the end of an entitlement: nothing, the same product, or
    /// another product.
    private func continuation(of entitlement: Entitlement) -> String {
        let next = subscription(of: entitlement)?.renewsTo.flatMap {
            $0 == entitlement.productID ? nil : $0
        }
        return switch (entitlement.willRenew, next) {
        case (true?, nil): ", then renews"
        case (true?, let product?): ", then renews as \(product)"
        case (false?, nil): ", does not renew"
        case (false?, let product?): ", then changes to \(product)"
        case (nil, _): ""
        }
    }

    private func subscription(of entitlement: Entitlement) -> Subscription? {
        entitlement.purchaseID.flatMap { id in
            customer.subscriptions.first { $0.purchaseID == id }
        }
    }

    /// The words for the time when the unpaid renewal was due: ` on 1 March 2026`.
    private func refusal(_ entitlement: Entitlement, in frame: Frame) -> String {
        subscription(of: entitlement)?.period.until.map { " on \(CivilTime($0).longDate)" } ?? ""
    }

    /// Why nothing is open, as a sentence without its full stop.
    private func ending(
        _ entitlement: Entitlement, of name: String, in frame: Frame
    ) -> String {
        let on = entitlement.until.map { " on \(frame.longTime($0))" } ?? ""
        return switch entitlement.state {
        case .refunded: "Apple refunded the payment for \(name)\(on)"
        case .revoked where subscription(of: entitlement)?.seat?.standing == .waiting:
            "\(name) waits for a seat, as the group has more members than seats"
        case .revoked: "\(name) was taken back\(on)"
        case .retry: refusedCard(entitlement, of: name, in: frame)
        case .expired: "\(name) ended\(on)"
        default: "\(name) is \(entitlement.state.rawValue)\(on)"
        }
    }

    /// The sentence about a renewal that failed, if its grace period is over or there was none.
    private func refusedCard(
        _ entitlement: Entitlement, of name: String, in frame: Frame
    ) -> String {
        let subscription = subscription(of: entitlement)
        let refused = subscription?.period.until ?? entitlement.until
        let closed = [subscription?.graceUntil, entitlement.until].compactMap(\.self).max()
        let on = closed.map { " on \(frame.longTime($0))" } ?? ""
        guard let refused, let closed, refused < closed else {
            return "\(name) closed\(on): the card was refused. Apple keeps trying"
        }
        return "\(name) closed\(on): the card was refused on \(frame.longTime(refused)), and the "
            + "grace period is over. Apple keeps trying"
    }
}
