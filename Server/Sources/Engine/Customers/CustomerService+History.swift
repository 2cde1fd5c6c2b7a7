import Ledger
import Storage

/// One entry of a customer's history, with a sentence for a person.
package struct HistoryLine: Hashable, Sendable {
    package var at: Instant
    package var kind: Kind
    package var sentence: String
    package var purchase: PurchaseID?
    package var document: DocumentID?
    /// The id of the transfer, grant, debit, manual credit or event.
    package var reference: String?
    /// The sentence without the reason that support gave. Nil if the sentence contains no such
    /// reason.
    var sentenceWithoutReason: String?

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A fact that a document attests.
        case fact
        case link
        case share
        case transfer
        case block
        case grant
        case debit
        case credit
        /// An inquiry of the App Store about a purchase, and our response.
        case consumption
        case event
    }

    /// The line for readers who may not see the reasons that support gave. Reasons of debits and
    /// credits stay, because the customer can also read them.
    package var withoutReason: Self {
        var line = self
        line.sentence = sentenceWithoutReason ?? sentence
        return line
    }
}

/// A part of a history.
package struct HistoryPage: Sendable {
    package var lines: [HistoryLine]
    /// The cursor of the page with later lines. Nil on the last page.
    package var next: ListCursor?
}

extension CustomerService {
    /// The maximum and default number of lines on a page of a history.
    package static let historyLinesMax = 1_000
    package static let historyLinesDefault = 200

    /// The lines of a history after a position.
    ///
    /// - Parameter limit: at most ``historyLinesMax``.
    package func historyPage(
        of id: CustomerID, app: AppID, environment: Environment, after position: ListCursor?,
        limit: Int
    ) async throws(EngineFailure) -> HistoryPage {
        guard limit <= Self.historyLinesMax else {
            throw .limitExceeded(what: "lines", limit: Self.historyLinesMax)
        }
        let rest = try await history(of: id, app: app, environment: environment)
            .rest(after: position)
        let lines = Array(rest.prefix(limit))
        return HistoryPage(
            lines: lines, next: lines.count < rest.count ? lines.last?.position : nil)
    }

    /// The maximum number of events in a history. Only the last events are included.
    package static let historyEventsMax = 500

    /// Everything that is known about a customer, in order of time, with a sentence for each entry.
    package func history(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> [HistoryLine] {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        return try await events.readingLog(of: appID) { tx in
            let state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            return try CustomerReader(tx).history(of: state, in: app)
        }
    }
}

extension OwnershipClaim.Evidence {
    var sentence: String {
        switch self {
        case .device: "because a device posted it"
        case .token: "because it carries the customer's account token"
        case .support: "by support"
        }
    }
}

// MARK: - Sentences

extension FactWithSource {
    /// The kind and the source of a document, for example `transaction from a device`.
    var origin: String {
        let place =
            switch source {
            case .device: "a device"
            case .notification, .reconciliation: "the App Store"
            case .imported: "an imported file"
            }
        return "\(kind.rawValue) from \(place)"
    }
}

extension HistoryLine {
    init(_ source: FactWithSource) {
        let fact = source.fact
        let document = DocumentID(bytes: source.document)
        self.init(
            at: fact.attestedAt, kind: .fact,
            sentence: "\(fact.statement.sentence) Attested by a \(source.origin), "
                + "received \(source.receivedAt.minute).",
            purchase: fact.purchase, document: document)
    }

    init(_ transfer: StoredTransfer) {
        let way =
            switch (transfer.kind, transfer.former) {
            case (.moved, _) where transfer.stays && transfer.evidence == .support:
                "stays with \(transfer.customer), \(transfer.evidence.sentence)"
            // The former owner and the customer have been merged since.
            case (.moved, _) where transfer.stays:
                "came to \(transfer.customer), \(transfer.evidence.sentence)"
            case (.moved, let former?):
                "moved from \(former) to \(transfer.customer), \(transfer.evidence.sentence)"
            case (.moved, nil): "came to \(transfer.customer), \(transfer.evidence.sentence)"
            case (.shared, let owner):
                "shared with \(transfer.customer)" + (owner.map { " by \($0)" } ?? "")
            }
        let why = transfer.reason.isEmpty ? "" : ": \(transfer.reason)"
        let fate = transfer.undoneAt.map { " Undone on \($0.minute)." } ?? ""
        self.init(
            at: transfer.at, kind: transfer.kind == .shared ? .share : .transfer,
            sentence: "Purchase \(transfer.purchase.original) \(way)\(why).\(fate)",
            purchase: transfer.purchase,
            reference: transfer.stays ? nil : "trf_\(transfer.number)",
            sentenceWithoutReason: "Purchase \(transfer.purchase.original) \(way).\(fate)")
    }

    static func lines(of grant: Grant, at now: Instant) -> [HistoryLine] {
        let end = grant.until.map { " until \($0.minute)" } ?? ", without an end"
        let sentence = "\(grant.entitlement) granted\(end)"
        let given = HistoryLine(
            at: grant.from, kind: .grant, sentence: "\(sentence): \(grant.reason)",
            reference: grant.id.rawValue, sentenceWithoutReason: "\(sentence).")
        guard let over = grant.end, over <= now else { return [given] }
        let how = grant.withdrawnAt == nil ? "ended" : "was withdrawn"
        return [
            given,
            HistoryLine(
                at: over, kind: .grant, sentence: "\(grant.entitlement), granted, \(how).",
                reference: grant.id.rawValue),
        ]
    }

    init(_ stored: StoredConsumptionInquiry) {
        let question = stored.inquiry
        var sentence = "The App Store asks how transaction \(question.transaction) of "
        sentence += "\(question.product) was used"
        if let reason = question.reason { sentence += " (\(reason))" }
        let why = stored.lastError.map { ": \($0)" } ?? "."
        switch stored.state {
        case .waiting: sentence += ". No response yet" + why
        case .withheld: sentence += ". Nothing was sent" + why
        case .givenUp: sentence += ". The response was abandoned" + why
        case .answered:
            sentence += ". Our response was" + (stored.response.map { " \($0.sentence)" } ?? why)
        }
        self.init(
            at: question.askedAt, kind: .consumption, sentence: sentence,
            purchase: question.purchase, document: DocumentID(bytes: stored.document))
    }

    init(_ booking: Booking) {
        let (kind, what): (Kind, String) =
            switch booking.kind {
            case .debit: (.debit, "spent")
            case .credit: (.credit, "added by hand")
            }
        self.init(
            at: booking.at, kind: kind,
            sentence: "\(booking.amount) of \(booking.currency) \(what): \(booking.reason)",
            reference: booking.id.rawValue)
    }

    init(_ event: LoggedEvent, at place: LogPosition) {
        let change = event.entry.change
        var sentence = "Event: \(change.kind.rawValue.replacing("_", with: " "))"
        if let purchase = event.entry.purchase { sentence += " of purchase \(purchase.original)" }
        if let grant = change.grant { sentence += " of \(grant.entitlement)" }
        if let ending = change.ending {
            sentence += ", \(ending.daysBefore.counted("day")) before \(ending.until.minute)"
        }
        if let wallet = change.wallet { sentence += ", \(wallet.text)" }
        if let other = event.entry.other { sentence += ", \(other)" }
        if change.before != change.after {
            let before = change.before?.state?.rawValue ?? "nothing"
            let after = change.after?.state?.rawValue ?? "nothing"
            sentence += ", from \(before) to \(after)"
        }
        if let author = event.entry.author { sentence += ", by \(author.text)" }
        self.init(
            at: event.entry.knownAt, kind: .event, sentence: sentence + ".",
            purchase: event.entry.purchase, reference: "evt_\(place)")
    }
}

extension WalletChange {
    /// The change in words, for example `-30 seeds, from 100 to 70`.
    var text: String {
        "\(amount < 0 ? "" : "+")\(amount) \(currency), from \(before) to \(after)"
    }
}

extension ConsumptionResponse {
    fileprivate var sentence: String {
        var words = delivery.rawValue.replacing("_", with: " ")
        if let used { words += ", \(Percentage.percent(used)) % used" }
        words += hadSample ? ", with a sample" : ", without a sample"
        if let preference {
            words += ", preferred: \(preference.rawValue.replacing("_", with: " "))"
        }
        return words + "."
    }
}

extension Fact.Statement {
    fileprivate var sentence: String {
        switch self {
        case .payment(let payment):
            var words = "\(payment.product), transaction \(payment.transaction), "
            if payment.terms != .full { words += "\(payment.terms.rawValue), " }
            if let offer = payment.offer { words += "\(offer.text), " }
            words += "from \(payment.from.minute)"
            if let until = payment.until { words += " until \(until.minute)" }
            if let revocation = payment.revocation {
                words += "; revoked on \(revocation.at.minute)"
            }
            return words + "."
        case .appPurchase(let app):
            return "The app itself, app transaction \(app.transaction), "
                + "got on \(app.from.minute) at version \(app.version ?? "unknown")."
        case .renewal(let renewal):
            if let ending = renewal.ending { return "Not renewed: \(ending.rawValue)." }
            if renewal.isRetrying { return "The renewal could not be collected." }
            return "Renewal is \(renewal.willRenew ? "on" : "off")."
        }
    }
}
