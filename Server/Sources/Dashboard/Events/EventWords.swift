import PerennialContract

/// The words for an event.
struct EventWords {
    var event: Event

    /// The event in a few words, for the feed: `Renewed`. For a type that this version does not
    /// know, the type itself.
    var headline: String {
        Self.headlines[event.type] ?? Self.sentence(event.type.rawValue)
    }

    private static func sentence(_ word: String) -> String {
        let words = word.replacing("_", with: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    private static let headlines: [EventType: String] = [
        .purchased: "Bought", .trialStarted: "Trial began",
        .trialConverted: "Trial converted", .renewed: "Renewed",
        .billingRecovered: "Payment recovered", .resubscribed: "Resubscribed",
        .refunded: "Refunded", .refundReversed: "Refund reversed",
        .renewalTurnedOff: "Will not renew", .renewalTurnedOn: "Will renew again",
        .billingFailed: "Payment failed", .graceBegan: "Grace period began",
        .graceEnded: "Grace period ended",
        .retryBegan: "Billing retry began", .accessUnconfirmed: "Held open, not confirmed",
        .movedAway: "Moved away", .granted: "Granted", .grantEnded: "Grant ended",
        .consumptionRequested: "Apple asks about a refund",
        .consumptionAnswered: "Answer sent to Apple", .walletCredited: "Wallet credited",
        .walletCreditedByHand: "Credited by support",
        .walletDebited: "Spent", .walletClawedBack: "Taken out after a refund",
        .customerErased: "Erased", .seatsAdded: "Seats added",
        .seatAssigned: "Got a seat from Apple", .seatRevoked: "Seat taken back by Apple",
        .seatClaimed: "Joined a group", .seatReleased: "Seat released",
    ]

    /// The product and its details.
    func detail(in frame: Frame) -> Markup {
        var parts: [Markup] = []
        if let wallet = event.wallet { parts.append(Self.wallet(wallet)) }
        if let grant = event.grant { parts.append(Self.grant(grant, in: frame)) }
        if let product = event.productID { parts.append(.bdi(product)) }
        if let next = event.nextProductID { parts.append("then \(.bdi(next))") }
        if let offer = event.offer { parts.append("offer: \(.bdi(offer.kind))") }
        if let term = event.term {
            parts.append("\(.bdi(term.chain)) until \(frame.day(term.until))")
        }
        if let end = event.seat?.cause { parts.append(Self.ending(end)) }
        if let why = event.why { parts.append("why: \(.bdi(why.replacing("_", with: " ")))") }
        if let other = event.otherCustomerID {
            parts.append("\(otherWord) \(frame.customer(other))")
        }
        if let after = event.after, after.active, event.wallet == nil, !isOfOthers {
            parts.append(after.until.map { "until \(frame.day($0))" } ?? "without end")
        }
        if let seat = event.seat {
            parts.append("claim <span class=\"mono\">\(.bdi(seat.claimID))</span>")
        }
        return parts.joined(by: ", ")
    }

    /// Whether the customer lost the seat, so that the state of the purchase concerns only others.
    var isOfOthers: Bool { event.type == .seatReleased }

    private var otherWord: Markup {
        switch event.type {
        case .movedAway: "to"
        case .moved: "from"
        default: "with"
        }
    }

    private static func wallet(_ movement: WalletMovement) -> Markup {
        let reason: Markup = movement.reason.map { ", “\(.bdi($0))”" } ?? ""
        let amount = Figures.count(movement.amount.magnitude)
        return
            "\(amount) \(.bdi(movement.currency))\(reason), \(Figures.count(movement.after)) left"
    }

    private static func grant(_ grant: Grant, in frame: Frame) -> Markup {
        let end: Markup = grant.until.map { "until \(frame.day($0))" } ?? "without end"
        return "\(.bdi(grant.entitlement)) \(end)"
    }

    /// Why a member no longer has a seat.
    private static func ending(_ cause: SeatEnd) -> Markup {
        endings[cause].map { Markup(text: $0) } ?? .bdi(cause.rawValue)
    }

    private static let endings: [SeatEnd: String] = [
        .left: "given back", .removed: "taken back", .erased: "somebody was erased",
        .unclaimed: "Apple refunded it", .boughtAgain: "the group was bought again",
        .joined: "two ids are one person",
    ]

    /// The state before, and the state after as a chip.
    var change: Markup {
        guard event.before != nil || event.after != nil else { return "" }
        guard event.before?.state != nil || event.after?.state != nil else { return "" }
        if event.before == event.after { return "<span class=\"muted\">the same</span>" }
        let before = event.before?.state.map { Markup.bdi($0.rawValue) } ?? "–"
        let after = event.after?.state.map { Chip($0).markup } ?? "–"
        return "<span class=\"muted\">\(before) →</span> \(after)"
    }

    /// How the server learned of the change.
    func cause(in frame: Frame) -> Markup {
        if let document = event.cause.documentID {
            return DocumentLink(
                id: document, transaction: event.originalTransactionID, knownAt: event.knownAt
            ).markup(in: frame)
        }
        if let author = event.cause.author {
            let name: Markup = author.actor.map(Markup.bdi) ?? "key \(.bdi(author.keyName))"
            return "<span class=\"muted\">\(name)</span>"
        }
        return "<span class=\"muted\">\(.bdi(event.cause.kind))</span>"
    }

    var money: Markup { event.money.map { "\(Figures.signedMoney($0))" } ?? "" }

    /// The amount in a list of several customers. Empty if the viewer does not see money.
    func listedMoney(in frame: Frame) -> Markup { frame.viewer.seesMoney ? money : "" }
}
