import Ledger
import Storage

extension CustomerService {
    /// Explains what a customer may use, why, and which documents prove it. The text is for people,
    /// with a few lines for each purchase.
    ///
    /// - Parameter isForApp: whether the text is for the customer's own app. The text for an app
    ///   names no other customer, no anonymous id, and no decision of support.
    /// - Parameter hasReasons: whether decisions of support are shown with their reasons.
    package func explain(
        _ id: CustomerID, app appID: AppID, environment: Environment, isForApp: Bool = false,
        hasReasons: Bool = true
    ) async throws(EngineFailure) -> String {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let now = context.now()
        return try await events.readingLog(of: appID) { tx in
            let state = try CustomerReader(tx).state(
                of: id, in: app, environment: environment, at: now)
            var shown = state
            if isForApp { shown.aliases = state.aliasesForApps }
            var lines = Explanation.head(of: shown, app: app)
            let payments = state.purchases.flatMap { $0.timeline.periods.map(\.payment) }
            let customer = try tx.customers.find(known: id, in: appID)?.customer
            for currency in state.balances.keys.sorted() {
                let wallet = try WalletDecisions(tx).wallet(
                    currency, of: customer, payments, in: app, environment: environment)
                lines += Explanation.lines(of: wallet, currency)
            }
            let told = try tx.reminders.times(
                of: Set([id] + state.aliases + (customer.map { [$0] } ?? [])), in: appID,
                environment: environment)
            lines += Explanation.lines(
                of: app.terms.reminders(of: state.terms), told: told, at: now)
            lines += Explanation.lines(of: CustomerReader(tx).shelf(of: state, in: app))
            lines += Explanation.lines(
                of: app.offers.eligibility(
                    for: state.purchases.filter { $0.timeline.seat == nil }.map(\.timeline),
                    at: now, rules: app.rules))
            lines += Explanation.lines(of: app.tokens, for: state)
            for purchase in state.purchases {
                let link = try tx.links.find(of: purchase.timeline.purchase, in: appID)
                let facts = try tx.facts.all(about: purchase.timeline.purchase, in: appID)
                let origins = try tx.purchases.origins(of: purchase.timeline.purchase, in: appID)
                lines +=
                    [""]
                    + Explanation.lines(
                        of: purchase, link: link, facts: facts, origins: origins)
            }
            if !isForApp {
                lines += Explanation.decisionLines(
                    byHand: try CustomerReader(tx).history(of: state, in: app).filter {
                        [.transfer, .share, .block, .grant, .consumption].contains($0.kind)
                    }.map { hasReasons ? $0 : $0.withoutReason })
            }
            let events = try EventReader(tx).lastEvents(
                concerning: state, in: appID, limit: Explanation.eventsMax)
            lines += Explanation.lines(of: events, isForApp: isForApp)
            return lines.joined(separator: "\n")
        }
    }
}

/// The text of an explanation: the chain from each result to the documents on which it is based.
private enum Explanation {
    /// The maximum number of recent events in the text.
    static let eventsMax = 20

    /// The maximum number of recent decisions, by people and policies, in the text.
    private static let decisionsMax = 20

    static func decisionLines(byHand lines: [HistoryLine]) -> [String] {
        guard !lines.isEmpty else { return [] }
        return ["", "Decided by people and policies"]
            + lines.suffix(decisionsMax).map { line in
                "  \(line.at.minute)  \(line.sentence)"
                    + (line.reference.map { "  \($0)" } ?? "")
            }
    }

    static func lines(of events: [LoggedEvent], isForApp: Bool) -> [String] {
        guard !events.isEmpty else { return [] }
        return ["", "Last events"] + events.map { line(of: $0, isForApp: isForApp) }
    }

    private static func line(of event: LoggedEvent, isForApp: Bool) -> String {
        let change = event.entry.change
        var line = "  \(event.sequence)  \(change.at.minute)  \(change.kind.rawValue)"
        if let seat = change.seat {
            line += "  seat \(seat.claim)" + (seat.cause.map { " (\($0.rawValue))" } ?? "")
        }
        // A member must not learn which purchase pays for the seat.
        if let purchase = event.entry.purchase, change.seat == nil || !isForApp {
            line += "  \(purchase.original)"
        }
        if change.before != change.after {
            line += "  \(text(of: change.before)) → \(text(of: change.after))"
        }
        if let money = change.money { line += "  \(money.text)" }
        if let grant = change.grant { line += "  \(grant.entitlement)" }
        if let ending = change.ending { line += "  \(ending.text)" }
        if let wallet = change.wallet { line += "  \(wallet.text)" }
        if let why = change.expirationReason { line += "  (\(why.rawValue))" }
        if let other = event.entry.other, !isForApp { line += "  \(other)" }
        if case .document(let id) = event.entry.cause {
            line += "  by \(DocumentID(bytes: id).rawValue.prefix(12))"
        }
        return line + "  emitted \(event.entry.knownAt.minute)"
    }

    private static func text(of condition: PurchaseStatus?) -> String {
        guard let condition else { return "unknown" }
        let state = condition.state?.rawValue ?? "no access"
        return state + (condition.until.map { " until \($0.minute)" } ?? "")
    }

    static func head(of state: CustomerState, app: AppSettings) -> [String] {
        var lines = ["\(state.id) in \(app.id), \(state.environment.rawValue), at \(state.asOf)"]
        if !state.aliases.isEmpty {
            lines.append("also known as \(state.aliases.map(\.rawValue).joined(separator: ", "))")
        }
        if state.purchases.isEmpty { lines.append("No purchase is known for this customer.") }
        for (entitlement, access) in state.entitlements.sorted(by: { $0.key < $1.key }) {
            let mark = access.isOpen ? "open" : "closed"
            lines.append(
                "\(entitlement): \(mark), \(access.state.rawValue). \(access.reason.sentence)")
            switch access.source {
            case .purchase(let purchase, let product):
                lines.append("    by \(product), purchase \(purchase.original)")
            case .grant(let grant): lines.append("    by hand, \(grant)")
            }
        }
        lines += state.unlistedProducts.map {
            "\($0.product): gives nothing, perennial.yaml does not list it. \($0.remedy)"
        }
        lines += state.terms.map { line(of: $0, at: state.asOf, by: state.clock) }
        return lines
    }

    /// The reminders that were emitted before the end of terms, and the reminders that are
    /// scheduled.
    static func lines(
        of reminders: [TermReminder], told: [TermEnding.Key: Instant], at now: Instant
    ) -> [String] {
        reminders.compactMap { reminder in
            let ending = reminder.ending
            if let knownAt = told[ending.key] {
                return "reminder \(ending.text): emitted on \(knownAt.minute)"
            }
            guard now < ending.until else { return nil }
            return "reminder \(ending.text): due on \(reminder.dueAt.minute)"
        }
    }

    /// The maximum number of publications in the text. Only the newest publications are listed.
    private static let readingsMax = 10

    static func lines(of readings: [ShelfEntry]) -> [String] {
        readings.prefix(readingsMax).map { entry in
            "content \(entry.reading.publication): \(entry.reading.isOpen ? "open" : "closed"). "
                + entry.reading.reason.sentence
        }
    }

    /// The maximum number of offers in the text.
    private static let offersMax = 10

    static func lines(of offers: [OfferEligibility]) -> [String] {
        offers.prefix(offersMax).map { offer in
            let name = offer.id.map { " \($0)" } ?? ""
            return "offer \(offer.product), \(offer.kind.word)\(name): "
                + "\(offer.why.isEligible ? "eligible" : "not eligible"). \(offer.why.sentence)"
        }
    }

    static func lines(of tokens: TokenRules?, for state: CustomerState) -> [String] {
        guard let tokens else { return [] }
        let open = state.entitlements.filter(\.value.isOpen).keys.sorted().map(\.rawValue)
        let what = open.isEmpty ? "no entitlement" : open.joined(separator: ", ")
        let minutes = (tokens.life.components.seconds / 60).counted("minute")
        return ["token: lists \(what); valid \(minutes)"]
    }

    /// The maximum number of recent entries of a wallet in the text.
    private static let walletEntriesMax = 10

    static func lines(of wallet: Wallet, _ currency: CurrencyID) -> [String] {
        ["wallet \(currency): \(wallet.balance)"]
            + wallet.entries.suffix(walletEntriesMax).map(line)
    }

    private static func line(of entry: Wallet.Entry) -> String {
        let cause =
            switch entry.cause {
            case .purchase(let transaction, let product): "\(product), transaction \(transaction)"
            case .refund(let transaction, let product): "\(product) refunded, \(transaction)"
            case .debit(let id, let reason): "\(reason), debit \(id)"
            case .credit(let id, let reason): "\(reason), credit by hand \(id)"
            }
        let sign = entry.amount < 0 ? "" : "+"
        return "    \(entry.at.minute)  \(sign)\(entry.amount)  → \(entry.balance)  \(cause)"
    }

    private static func line(of term: Term, at now: Instant, by clock: WallClock) -> String {
        let place = term.continues ? ", after the term before it" : ""
        let days = term.daysRemaining(at: now, by: clock)
        let left = term.until <= now ? "over" : "\(days) whole days left"
        return "term \(term.from.minute) – \(term.until.minute)  \(term.product)  \(left)\(place)"
    }

    static func lines(
        of state: PurchaseState, link: Link?, facts: [FactWithSource],
        origins: [TransactionID: PurchaseOrigin]
    ) -> [String] {
        var lines = ["Purchase \(state.timeline.purchase.original)"]
        let evidence = link.map { "linked by \($0.evidence.rawValue) on \($0.since.minute)" }
        if let seat = state.timeline.seat {
            lines = ["Seat \(seat.claim)"]
            lines.append("  claimed on \(seat.since.minute), \(seat.standing.rawValue)")
        } else {
            lines.append("  " + (evidence ?? "no link; found by its account token"))
        }
        for period in state.timeline.periods {
            lines.append(line(of: period))
            if let origin = period.transactions.lazy.compactMap({ origins[$0] }).first {
                lines.append("    bought \(origin.text), as the app said")
            }
            lines += restores(of: period)
        }
        for proof in state.timeline.appProofs?.all ?? [] {
            lines.append(line(of: proof, among: facts))
        }
        if let renewal = state.timeline.renewal { lines.append(line(of: renewal)) }
        lines.append("  documents:")
        lines += facts.map(line)
        return lines
    }

    /// The line about the purchase of the app itself. The line names the document that proves the
    /// purchase. Later documents do not change the proof.
    private static func line(
        of proof: Timeline.Attested<AppPurchase>, among facts: [FactWithSource]
    ) -> String {
        let app = proof.value
        let source = facts.first {
            $0.fact.attestedAt == proof.at && $0.fact.statement == .appPurchase(app)
        }
        return "  the app itself, got on \(app.from.minute) at version \(app.version ?? "unknown")"
            + (app.isOnMac ? " for a Mac" : "")
            + (source.map { ", by document \(DocumentID(bytes: $0.document).rawValue.prefix(12))" }
                ?? "")
    }

    private static func restores(of period: Timeline.Period) -> [String] {
        period.copies.map(\.payment).sorted { $0.transaction < $1.transaction }.compactMap { copy in
            copy.restoredAt.map { "    restored on \($0.minute), transaction \(copy.transaction)" }
        }
    }

    private static func line(of period: Timeline.Period) -> String {
        let payment = period.payment
        var line =
            "  \(period.from.minute) – \(period.end?.minute ?? "without end")  \(period.product)"
        line += "  \(payment.terms.rawValue)"
        if let offer = payment.offer { line += "  \(offer.text)" }
        if let seats = payment.seats {
            line += "  \(payment.quantity.counted("seat"))"
            if period.isAddition { line += " added" }
            if seats.refunded > 0 { line += ", \(seats.refunded) of them refunded" }
        } else if payment.quantity > 1 {
            line += "  \(payment.quantity) of them"
        }
        if let price = payment.price { line += "  \(price.text)" }
        if let promise = payment.commitment {
            line += "  month \(promise.month) of \(promise.months)"
        }
        if payment.ownership != .purchased { line += "  \(payment.ownership.rawValue)" }
        return line + fate(of: period)
    }

    private static func fate(of period: Timeline.Period) -> String {
        var line = ""
        if let revocation = period.payment.revocation {
            line += "  revoked on \(revocation.at.minute) (\(revocation.kind.rawValue)"
            if let part = revocation.percentage { line += ", \(Percentage.percent(part)) %" }
            line += ")"
        }
        if period.isReplaced { line += "  replaced by the next" }
        if period.isVoid { line += "  paid ahead, and upgraded before it began" }
        return line
    }

    private static func line(of renewal: Timeline.Attested<Renewal>) -> String {
        let value = renewal.value
        var line = "  renewal, as of \(renewal.at.minute): \(value.willRenew ? "on" : "off")"
        if value.willRenew, let product = value.renewsTo { line += ", to \(product)" }
        if value.isRetrying { line += ", billing retry" }
        if let grace = value.graceUntil { line += ", grace until \(grace.minute)" }
        if let ending = value.ending { line += ", ending: \(ending.rawValue)" }
        if let offer = value.offer { line += ", with \(offer.text)" }
        if let rise = value.priceRise { line += ", higher price: \(rise.rawValue)" }
        if value.commitmentRenews == false { line += ", commitment not renewed" }
        return line
    }

    private static func line(of source: FactWithSource) -> String {
        let subject =
            switch source.fact.statement {
            case .payment(let payment): "transaction \(payment.transaction)"
            case .renewal: "renewal"
            case .appPurchase(let app): "app transaction \(app.transaction)"
            }
        let document = DocumentID(bytes: source.document).rawValue.prefix(12)
        return "    \(document)  \(source.origin), received "
            + "\(source.receivedAt.minute): \(subject), attested \(source.fact.attestedAt)"
    }
}

extension PurchaseOrigin {
    /// Where the transaction was bought, for example
    /// `at onboarding, in DEU, with perennial-swift/0.1.0`.
    fileprivate var text: String {
        [placement.map { "at \($0)" }, storefront.map { "in \($0)" }, sdk.map { "with \($0)" }]
            .compactMap(\.self).joined(separator: ", ")
    }
}

extension Offer {
    /// The offer in words, for example `promotional offer stay`.
    var text: String { "\(kind.word) offer" + (id.map { " \($0)" } ?? "") }
}

extension TermEnding {
    fileprivate var text: String { "\(daysBefore.counted("day")) before \(until.minute)" }
}

extension Money {
    /// The amount and its currency, for example `9.99 USD`.
    fileprivate var text: String {
        let (units, rest) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var fraction = String(String(rest + 1000).dropFirst())
        if fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(milliunits < 0 ? "-" : "")\(units).\(fraction) \(currency)"
    }
}
