// How signed documents and older ones are put together where they tell of the same thing.

extension Timeline {
    /// Whose word a value is. Where both have spoken, what each said last is kept beside the value,
    /// so that the value never depends on which came first.
    package indirect enum Sources<Value: Hashable & Sendable>: Hashable, Sendable {
        case signed
        case legacy
        case both(signed: Attested<Value>, legacy: Attested<Value>)

        var grade: Grade {
            switch self {
            case .signed, .both: .signed
            case .legacy: .legacy
            }
        }
    }

    /// A value, and whose word it is.
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
    /// When an older document that does not say when it was so was last heard. Where signed ones
    /// have spoken as well, it stands with what the older ones have said.
    package var heardAt: Instant? {
        get {
            switch sources {
            case .signed: nil
            case .legacy: value.value.heardAt
            case .both(_, let legacy): legacy.value.heardAt
            }
        }
        set {
            switch sources {
            case .signed: break
            case .legacy: value.value.heardAt = newValue
            case .both(let signed, var legacy):
                legacy.value.heardAt = newValue
                sources = .both(signed: signed, legacy: legacy)
            }
        }
    }
}

// Not generic: what is written for any kind of value asks for its type each time, and a timeline is
// put together for every answer.
extension Timeline {
    package static func told(
        _ payment: Payment, at: Instant, _ sources: Sources<Payment>
    ) -> Sourced<Payment> {
        Sourced(value: Attested(payment, at: at), sources: sources)
    }

    package static func told(
        _ renewal: Renewal, at: Instant, _ sources: Sources<Renewal>
    ) -> Sourced<Renewal> {
        Sourced(value: Attested(renewal, at: at), sources: sources)
    }
}

extension Timeline.Sourced where Value: Mergeable {
    /// What signed and older documents said last, put together.
    init(signed: Timeline.Attested<Value>, legacy: Timeline.Attested<Value>) {
        value = Value.merged(signed: signed, legacy: legacy)
        sources = .both(signed: signed, legacy: legacy)
    }

    /// Both: the last word of each grade, put together.
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
        case (nil, nil): preconditionFailure("Nobody has told what is told.")
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

/// What both signed and older documents tell of.
protocol Mergeable: Ordered, Hashable, Sendable {
    /// Signed data wins: it says more, and says when. Of an older document that is later only what
    /// has changed since counts.
    static func merged(
        signed: Timeline.Attested<Self>, legacy: Timeline.Attested<Self>
    ) -> Timeline.Attested<Self>

    /// Of two older documents the later; with what only the other was able to say. In any order,
    /// and however often, the same comes of it.
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
        // An end is put off, and never brought forward; older documents cut it to seconds.
        if let told = legacy.value.until, let known = payment.until, told >= known + .seconds(1) {
            payment.until = told
        }
        switch (payment.revocation, legacy.value.revocation) {
        // The signed one says how much was given back.
        case (.some, .some): break
        case (_, let told): payment.revocation = told
        }
        payment.own(as: payment.ownership)
        return Timeline.Attested(payment, at: legacy.at)
    }

    /// Receipts name the kind of product, answers the group and the account, neither both, and old
    /// ones do not know of families: what only some can say is the greatest that any has said. Only
    /// the rest decides which is later.
    static func joined(
        _ one: Timeline.Attested<Payment>, _ two: Timeline.Attested<Payment>
    ) -> Timeline.Attested<Payment> {
        let isTwoLater =
            two.at == one.at
            ? one.value.base.lexicographicallyPrecedes(two.value.base) : two.at > one.at
        var (result, other) = isTwoLater ? (two, one.value) : (one, two.value)
        if result.value.kind == .unknown
            || other.kind != .unknown && other.kind.rawValue > result.value.kind.rawValue
        {
            result.value.kind = other.kind
        }
        if other.bounty.lexicographicallyPrecedes(result.value.bounty) == false {
            result.value.offer = other.offer
            result.value.terms = other.terms
        }
        // An end is put off, and never brought forward.
        result.value.until = [one.value.until, two.value.until].compactMap(\.self).max()
        result.value.accountToken = greater(result.value.accountToken, other.accountToken)
        result.value.group = greater(result.value.group, other.group)
        result.value.isRenewal = result.value.isRenewal || other.isRenewal
        result.value.isUpgraded = result.value.isUpgraded || other.isUpgraded
        let isShared = [result.value.ownership, other.ownership].contains(.familyShared)
        result.value.own(as: isShared ? .familyShared : result.value.ownership)
        return result
    }

    /// To whom it is only shared, nothing can be given back.
    private mutating func own(as ownership: Ownership) {
        self.ownership = ownership
        if ownership == .familyShared { revocation?.kind = .sharingEnded }
    }

    /// What every older document says of a payment, in an order that means nothing.
    private var base: [String] {
        var plain = self
        (plain.kind, plain.terms, plain.offer) = (.unknown, .full, nil)
        (plain.accountToken, plain.group, plain.until) = (nil, nil, nil)
        (plain.isRenewal, plain.isUpgraded) = (false, false)
        plain.ownership = .purchased
        plain.revocation?.kind = .refund
        return plain.ordering
    }

    /// An offer that is named says more than one that is not, and that more than none.
    private var bounty: [String] {
        let rank = offer.map { $0.id == nil ? "1" : "2" } ?? "0"
        return [rank, offer?.kind.rawValue ?? "", offer?.id ?? "", terms.rawValue]
    }

    private static func greater(_ one: String?, _ two: String?) -> String? {
        guard let one, let two else { return one ?? two }
        return max(one, two)
    }

    /// The period's name; of an older document that lacks the line, what else is one in its chain.
    func id(_ grade: Grade) -> String {
        if let line { return line }
        guard grade == .legacy, let until else { return transaction.rawValue }
        return "\(product) \(until.milliseconds)"
    }
}

extension Renewal: Mergeable {
    /// Where the later one says the same, the signed one holds, and as of then. Of a higher price
    /// most older documents say nothing.
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
        told.heardAt = nil
        let isOfSame = says.renewsTo == signed.value.renewsTo
        told.priceRise = says.priceRise ?? (isOfSame ? signed.value.priceRise : nil)
        return Timeline.Attested(told, at: legacy.at)
    }

    /// Answers about one transaction do not know of grace. So of that the latest end holds that was
    /// told; once it is over it means nothing, and the store itself goes on naming it.
    static func joined(
        _ one: Timeline.Attested<Renewal>, _ two: Timeline.Attested<Renewal>
    ) -> Timeline.Attested<Renewal> {
        let isTwoLater =
            two.at == one.at
            ? one.value.base.lexicographicallyPrecedes(two.value.base) : two.at > one.at
        var (result, other) = isTwoLater ? (two, one.value) : (one, two.value)
        result.value = result.value.withGrace(ofEarlier: other)
        result.value.heardAt = [result.value.heardAt, other.heardAt].compactMap(\.self).max()
        return result
    }

    private func withGrace(ofEarlier other: Renewal) -> Renewal {
        var renewal = self
        renewal.graceUntil = [graceUntil, other.graceUntil].compactMap(\.self).max()
        return renewal
    }

    /// What every older document says of a renewal, in an order that means nothing.
    private var base: [String] {
        var plain = self
        plain.graceUntil = nil
        return plain.ordering
    }
}
