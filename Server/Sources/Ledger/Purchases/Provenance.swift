// How the statements of signed and legacy documents about the same thing are merged.

extension Timeline {
    /// Which grade of document a value comes from. If there are statements of both grades, the
    /// latest statement of each grade is stored beside the value. So the value never depends on the
    /// order of arrival.
    package indirect enum Sources<Value: Hashable & Sendable>: Hashable, Sendable {
        case signed
        case legacy
        case both(signed: Attested<Value>, legacy: Attested<Value>)

        package var grade: Grade {
            switch self {
            case .signed, .both: .signed
            case .legacy: .legacy
            }
        }
    }

    /// A value, and the grade of document it comes from.
    package struct Sourced<Value: Hashable & Sendable>: Hashable, Sendable {
        package var value: Attested<Value>
        package var sources: Sources<Value>

        package init(value: Attested<Value>, sources: Sources<Value>) {
            self.value = value
            self.sources = sources
        }

        package init(_ value: Attested<Value>, _ grade: Grade) {
            self.value = value
            switch grade {
            case .signed: sources = .signed
            case .legacy: sources = .legacy
            }
        }
    }
}

extension Timeline.Sourced where Value == Renewal {
    /// The arrival time of the last legacy document that does not say when its content was true. If
    /// there are signed documents too, this time is stored with the legacy statement.
    package var receivedAt: Instant? {
        get {
            switch sources {
            case .signed: nil
            case .legacy: value.value.receivedAt
            case .both(_, let legacy): legacy.value.receivedAt
            }
        }
        set {
            switch sources {
            case .signed: break
            case .legacy: value.value.receivedAt = newValue
            case .both(let signed, var legacy):
                legacy.value.receivedAt = newValue
                sources = .both(signed: signed, legacy: legacy)
            }
        }
    }
}

// These functions are not generic, because generic code looks up type metadata on each call, and a
// timeline is built for every request.
extension Timeline {
    package static func sourced(
        _ payment: Payment, at: Instant, _ sources: Sources<Payment>
    ) -> Sourced<Payment> {
        Sourced(value: Attested(payment, at: at), sources: sources)
    }

    package static func sourced(
        _ renewal: Renewal, at: Instant, _ sources: Sources<Renewal>
    ) -> Sourced<Renewal> {
        Sourced(value: Attested(renewal, at: at), sources: sources)
    }
}

extension Timeline.Sourced where Value: Mergeable {
    /// Merges the latest statements of signed and legacy documents.
    init(signed: Timeline.Attested<Value>, legacy: Timeline.Attested<Value>) {
        value = Value.merged(signed: signed, legacy: legacy)
        sources = .both(signed: signed, legacy: legacy)
    }

    /// Combines two values. Takes the latest statement of each grade, and merges these statements.
    func adding(_ other: Self) -> Self {
        switch (parts, other.parts) {
        case ((let one?, nil), (let two?, nil)):
            Self(two.supersedes(one) ? two : one, .signed)
        case ((nil, let one?), (nil, let two?)): Self(Value.joined(one, two), .legacy)
        case ((let one, let two), (let three, let four)):
            Self(latest(one, three), joined(two, four))
        }
    }

    private init(
        _ signed: Timeline.Attested<Value>?, _ legacy: Timeline.Attested<Value>?
    ) {
        switch (signed, legacy) {
        case (let signed?, let legacy?): self.init(signed: signed, legacy: legacy)
        case (let signed?, nil): self.init(signed, .signed)
        case (nil, let legacy?): self.init(legacy, .legacy)
        case (nil, nil): preconditionFailure("a sourced value needs a signed or a legacy statement")
        }
    }

    private var parts: (signed: Timeline.Attested<Value>?, legacy: Timeline.Attested<Value>?) {
        switch sources {
        case .signed: (value, nil)
        case .legacy: (nil, value)
        case .both(let signed, let legacy): (signed, legacy)
        }
    }

    private func latest(
        _ one: Timeline.Attested<Value>?, _ two: Timeline.Attested<Value>?
    ) -> Timeline.Attested<Value>? {
        guard let one, let two else { return one ?? two }
        return two.supersedes(one) ? two : one
    }

    private func joined(
        _ one: Timeline.Attested<Value>?, _ two: Timeline.Attested<Value>?
    ) -> Timeline.Attested<Value>? {
        guard let one, let two else { return one ?? two }
        return Value.joined(one, two)
    }
}

/// A value that both signed and legacy documents describe.
protocol Mergeable: CanonicallyOrdered, Hashable, Sendable {
    /// Merges a signed and a legacy statement. Signed data wins, because it says more and has a
    /// date. A later legacy document only adds what has changed since the signed document.
    static func merged(
        signed: Timeline.Attested<Self>, legacy: Timeline.Attested<Self>
    ) -> Timeline.Attested<Self>

    /// Combines two legacy statements: the later statement wins. Values that only the earlier
    /// statement has are added to it. Commutative and idempotent.
    static func joined(
        _ one: Timeline.Attested<Self>, _ two: Timeline.Attested<Self>
    ) -> Timeline.Attested<Self>
}

extension Payment: Mergeable {
    static func merged(
        signed: Timeline.Attested<Payment>, legacy: Timeline.Attested<Payment>
    ) -> Timeline.Attested<Payment> {
        guard legacy.at > signed.at else { return signed }
        var payment = signed.value
        payment.isUpgraded = payment.isUpgraded || legacy.value.isUpgraded
        // An end is only ever extended, never shortened. Legacy documents truncate the end to
        // seconds.
        if let told = legacy.value.until, let known = payment.until, told >= known + .seconds(1) {
            payment.until = told
        }
        switch (payment.revocation, legacy.value.revocation) {
        // The signed document says how much was refunded.
        case (.some, .some): break
        case (_, let told): payment.revocation = told
        }
        payment.setOwnership(as: payment.ownership)
        return Timeline.Attested(payment, at: legacy.at)
    }

    /// Receipts name the kind of product. verifyReceipt responses name the subscription group and
    /// the account. Neither kind of document names both, and old documents do not mention family
    /// sharing. For fields that only some documents have, the greatest value wins. Only the
    /// remaining fields decide which statement is later.
    static func joined(
        _ one: Timeline.Attested<Payment>, _ two: Timeline.Attested<Payment>
    ) -> Timeline.Attested<Payment> {
        let isTwoLater =
            two.at == one.at
            ? one.value.commonOrder.lexicographicallyPrecedes(two.value.commonOrder)
            : two.at > one.at
        var (result, other) = isTwoLater ? (two, one.value) : (one, two.value)
        if result.value.kind == .unknown
            || other.kind != .unknown && other.kind.rawValue > result.value.kind.rawValue
        {
            result.value.kind = other.kind
        }
        if other.offerRank.lexicographicallyPrecedes(result.value.offerRank) == false {
            result.value.offer = other.offer
            result.value.terms = other.terms
        }
        // An end is only ever extended, never shortened.
        result.value.until = [one.value.until, two.value.until].compactMap(\.self).max()
        result.value.accountToken = greater(result.value.accountToken, other.accountToken)
        result.value.group = greater(result.value.group, other.group)
        result.value.isRenewal = result.value.isRenewal || other.isRenewal
        result.value.isUpgraded = result.value.isUpgraded || other.isUpgraded
        let isShared = [result.value.ownership, other.ownership].contains(.familyShared)
        result.value.setOwnership(as: isShared ? .familyShared : result.value.ownership)
        return result
    }

    /// Sets the ownership. A customer who has a purchase that somebody else pays for cannot get a
    /// refund, so the revocation becomes the end of sharing.
    private mutating func setOwnership(as ownership: Ownership) {
        self.ownership = ownership
        if ownership != .purchased { revocation?.kind = .sharingEnded }
    }

    /// The fields that every legacy document has, in an arbitrary but fixed order.
    private var commonOrder: [String] {
        var plain = self
        (plain.kind, plain.terms, plain.offer) = (.unknown, .full, nil)
        (plain.accountToken, plain.group, plain.until) = (nil, nil, nil)
        (plain.isRenewal, plain.isUpgraded) = (false, false)
        plain.ownership = .purchased
        plain.revocation?.kind = .refund
        return plain.canonicalOrder
    }

    /// The rank of the offer among statements: an offer with a name ranks above an offer without a
    /// name, and any offer ranks above no offer.
    private var offerRank: [String] {
        let rank = offer.map { $0.id == nil ? "1" : "2" } ?? "0"
        return [rank, offer?.kind.rawValue ?? "", offer?.id ?? "", terms.rawValue]
    }

    private static func greater(_ one: String?, _ two: String?) -> String? {
        guard let one, let two else { return one ?? two }
        return max(one, two)
    }

    /// The period's identifier within its purchase. A one-time purchase is identified by its
    /// product, whatever the number of its transaction. A legacy payment without a line item is
    /// identified by product and end.
    func id(_ grade: Grade) -> String {
        if isBoughtOnce { return product.rawValue }
        // Added seats may have the same line item as their period.
        if seats?.isPart ?? false { return transaction.rawValue }
        if let line { return line }
        guard grade == .legacy, let until else { return transaction.rawValue }
        return "\(product) \(until.milliseconds)"
    }
}

extension Renewal: Mergeable {
    /// Merges two statements. If the legacy statement is later and says the same as the signed
    /// statement, the signed statement is kept, with the date of the legacy statement. Most legacy
    /// documents do not mention price increases, and none of them mentions seats.
    static func merged(
        signed: Timeline.Attested<Renewal>, legacy: Timeline.Attested<Renewal>
    ) -> Timeline.Attested<Renewal> {
        guard legacy.at > signed.at else { return signed }
        let says = legacy.value.withGrace(ofEarlier: signed.value)
        let isSame =
            says.willRenew == signed.value.willRenew && says.renewsTo == signed.value.renewsTo
            && says.isRetrying == signed.value.isRetrying
            && says.graceUntil == signed.value.graceUntil && says.ending == signed.value.ending
        var told = isSame ? signed.value : says
        told.receivedAt = nil
        let isOfSame = says.renewsTo == signed.value.renewsTo
        told.priceRise = says.priceRise ?? (isOfSame ? signed.value.priceRise : nil)
        // The next period for which the signed statement plans seats may have begun.
        let isAhead = signed.value.renewsAt.map { legacy.at < $0 } ?? false
        told.seats = isOfSame && isAhead ? signed.value.seats : nil
        return Timeline.Attested(told, at: legacy.at)
    }

    /// Responses about a single transaction do not contain grace, so the latest known end of grace
    /// wins. Once that end has passed, it has no effect. The App Store itself also continues to
    /// report it.
    static func joined(
        _ one: Timeline.Attested<Renewal>, _ two: Timeline.Attested<Renewal>
    ) -> Timeline.Attested<Renewal> {
        let isTwoLater =
            two.at == one.at
            ? one.value.commonOrder.lexicographicallyPrecedes(two.value.commonOrder)
            : two.at > one.at
        var (result, other) = isTwoLater ? (two, one.value) : (one, two.value)
        result.value = result.value.withGrace(ofEarlier: other)
        result.value.receivedAt = [result.value.receivedAt, other.receivedAt].compactMap(\.self)
            .max()
        return result
    }

    private func withGrace(ofEarlier other: Renewal) -> Renewal {
        var renewal = self
        renewal.graceUntil = [graceUntil, other.graceUntil].compactMap(\.self).max()
        return renewal
    }

    /// The fields that every legacy document has, in an arbitrary but fixed order.
    private var commonOrder: [String] {
        var plain = self
        plain.graceUntil = nil
        return plain.canonicalOrder
    }
}
