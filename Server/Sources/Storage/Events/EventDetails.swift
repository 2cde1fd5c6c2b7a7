import Ledger

// The JSON of events, which an operator can read with SQL: docs/events.md says how.
//
// The JSON has the names and the forms of the contract's event. Members without a value are left
// out. Members that have a column are left out, too: type, customer, environment, purchase,
// document and the time when the change became known. A new member is one line of a `visit`, and
// must be optional, because events are primary data: events of every released version must stay
// readable.

extension EventEntry {
    /// The JSON of all properties of the event that have no column.
    var details: String { JSONMembersWriter.text(of: EventDetails(self)) }

    /// Reads an event from its columns.
    init(
        app: AppID, customer: CustomerID?, environment: String?, purchase: String?, kind: String,
        knownAt: Instant, document: [UInt8]?, details: String
    ) throws(StorageFailure) {
        guard let kind = Change.Kind(rawValue: kind) else {
            throw StorageFailure(
                "an event has the unknown kind \(kind): use a newer version of Perennial")
        }
        let environment = try environment.map(Environment.stored)
        let found: EventDetails = try JSONMembersReader.value(of: details)
        self = found.entry
        (self.app, self.customer, self.knownAt) = (app, customer, knownAt)
        change.kind = kind
        if let environment, let purchase {
            self.purchase = PurchaseID(TransactionID(rawValue: purchase), in: environment)
        }
        if let environment { change.wallet?.environment = environment }
        if change.grant != nil { change.grantEnvironment = environment }
        cause = document.map { .document($0) } ?? found.undocumentedCause
    }
}

/// The part of an event that is in its JSON.
private struct EventDetails: JSONObject {
    var entry: EventEntry
    var undocumentedCause = EventEntry.Cause.time

    init(_ entry: EventEntry) {
        self.entry = entry
        undocumentedCause = entry.cause
    }

    static var blank: Self {
        Self(
            EventEntry(
                app: "", customer: nil, purchase: nil,
                change: Change(.accessChanged, at: Instant(milliseconds: 0)),
                knownAt: Instant(milliseconds: 0), cause: .time))
    }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.instant("at", required: &entry.change.at)
        try members.id("other_customer_id", &entry.other)
        try members.text("account_token", &entry.accountToken)
        try members.word("evidence", &entry.evidence) { $0.rawValue }
        try members.flag("confirmation", &entry.isConfirmation)
        try entry.change.visitPurchase(&members)
        try members.object("grant", &entry.change.grant)
        try members.object("term", &entry.change.ending)
        try members.object("wallet", &entry.change.wallet)
        try members.object("seat", &entry.change.seat)
        var cause = CauseDetails(undocumentedCause, entry.author)
        try members.object("cause", &cause)
        guard type(of: members).isReading else { return }
        undocumentedCause = cause?.cause ?? .time
        entry.author = cause?.author
    }
}

extension Change {
    fileprivate mutating func visitPurchase(
        _ members: inout some JSONMembers
    ) throws(StorageFailure) {
        try members.id("product_id", &product)
        try members.id("transaction_id", &transaction)
        try members.word("ownership", &ownership) { $0.word }
        try members.object("before", &before)
        try members.object("after", &after)
        try members.object("money", &money)
        try members.word("why", &expirationReason) { $0.rawValue }
        try members.object("offer", &offer)
        try members.id("next_product_id", &nextProduct)
        try members.object("next_price", &nextPrice)
    }
}

/// The cause of an event, if it is not a document. A document has a column.
private struct CauseDetails: JSONObject {
    var cause: EventEntry.Cause
    var author: EventAuthor?

    init?(_ cause: EventEntry.Cause, _ author: EventAuthor?) {
        if case .document = cause { return nil }
        self.cause = cause
        self.author = author
    }

    private init() { cause = .time }

    static var blank: Self { Self() }

    private static let words: KeyValuePairs<String, EventEntry.Cause> = [
        "time": .time, "request": .request, "rebuild": .rebuild,
    ]

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        var kind = Self.words.first { $0.value == cause }?.key
        try members.text("kind", &kind)
        try members.object("author", &author)
        guard type(of: members).isReading else { return }
        cause = try JSONMembersReader.require(Self.words.first { $0.key == kind }?.value, "cause")
    }
}

extension EventAuthor: JSONObject {
    static var blank: Self { Self(keyName: "", keyDigits: "") }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.text("key_name", required: &keyName)
        try members.text("key_digits", required: &keyDigits)
        try members.text("actor", &actor)
    }
}

extension PurchaseStatus: JSONObject {
    static var blank: Self { Self(product: "") }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.id("product_id", required: &product)
        // This member is computed from the state. A value that was read is ignored.
        var isOpen: Bool? = isOpen
        try members.flag("active", &isOpen)
        try members.word("state", &state) { $0.rawValue }
        try members.instant("until", &until)
        try members.flag("will_renew", &willRenew)
    }
}

extension Money: JSONObject {
    static var blank: Self { Self(milliunits: 0, currency: "") }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        var amount: String? = amount
        try members.text("amount", &amount)
        try members.text("currency", required: &currency)
        guard type(of: members).isReading else { return }
        milliunits = try JSONMembersReader.require(amount.flatMap(Self.milliunits), "amount")
    }
}

extension Offer: JSONObject {
    static var blank: Self { Self(.unknown) }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.word("kind", required: &kind) { $0.word }
        try members.text("id", &id)
    }
}

extension Grant: JSONObject {
    static var blank: Self {
        Self(id: "", entitlement: "", from: Instant(milliseconds: 0), until: nil, reason: "")
    }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.id("grant_id", required: &id)
        try members.id("entitlement", required: &entitlement)
        try members.instant("from", required: &from)
        try members.instant("until", &until)
        try members.text("reason", required: &reason)
        try members.instant("withdrawn_at", &withdrawnAt)
    }
}

extension TermEnding: JSONObject {
    static var blank: Self {
        let never = Instant(milliseconds: 0)
        return Self(chain: "", from: never, until: never, daysBefore: 0)
    }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.text("chain", required: &chain)
        try members.instant("from", required: &from)
        try members.instant("until", required: &until)
        var days = Int64(daysBefore)
        try members.number("days_before", required: &days)
        daysBefore = Int(days)
    }
}

extension WalletChange: JSONObject {
    /// A change without content. The event's environment replaces the environment of this change.
    static var blank: Self { Self("", in: .production, before: 0, after: 0) }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.id("currency", required: &currency)
        // This member is computed from the balances, so the value that is read is ignored.
        var amount: Int64? = amount
        try members.number("amount", &amount)
        try members.number("before", required: &before)
        try members.number("after", required: &after)
        try members.id("debit_id", &debit)
        try members.id("credit_id", &credit)
        try members.text("reason", &reason)
        try members.text("idempotency_key", &key)
    }
}

extension SeatChange: JSONObject {
    static var blank: Self { Self("") }

    mutating func visit(_ members: inout some JSONMembers) throws(StorageFailure) {
        try members.id("claim_id", required: &claim)
        try members.word("cause", &cause) { $0.rawValue }
    }
}

// MARK: - Forms of values

extension JSONMembers {
    fileprivate mutating func id<ID: TextIdentifier>(
        _ name: String, _ value: inout ID?
    ) throws(StorageFailure) {
        var found = value?.rawValue
        try text(name, &found)
        guard Self.isReading else { return }
        value = found.map(ID.init(rawValue:))
    }

    fileprivate mutating func id<ID: TextIdentifier>(
        _ name: String, required value: inout ID
    ) throws(StorageFailure) {
        var found = value.rawValue
        try text(name, required: &found)
        guard Self.isReading else { return }
        value = ID(rawValue: found)
    }

    fileprivate mutating func instant(
        _ name: String, _ value: inout Instant?
    ) throws(StorageFailure) {
        var found = value?.description
        try text(name, &found)
        guard Self.isReading else { return }
        value = try found.map { (text) throws(StorageFailure) in
            try Self.require(Instant(text), name)
        }
    }

    fileprivate mutating func instant(
        _ name: String, required value: inout Instant
    ) throws(StorageFailure) {
        var found: Instant? = value
        try instant(name, &found)
        guard Self.isReading else { return }
        value = try Self.require(found, name)
    }

    /// Visits a case of an enumeration, written as its word in the contract.
    fileprivate mutating func word<Word: CaseIterable>(
        _ name: String, _ value: inout Word?, _ words: (Word) -> String
    ) throws(StorageFailure) {
        var found = value.map(words)
        try text(name, &found)
        guard Self.isReading else { return }
        value = try found.map { (text) throws(StorageFailure) in
            try Self.require(Word.allCases.first { words($0) == text }, name)
        }
    }

    fileprivate mutating func word<Word: CaseIterable>(
        _ name: String, required value: inout Word, _ words: (Word) -> String
    ) throws(StorageFailure) {
        var found: Word? = value
        try word(name, &found, words)
        guard Self.isReading else { return }
        value = try Self.require(found, name)
    }
}

extension Ownership {
    /// The name used in the HTTP API.
    var word: String {
        switch self {
        case .purchased: "purchased"
        case .familyShared: "family_shared"
        case .assigned: "assigned"
        }
    }
}

extension Money {
    /// The amount as exact decimal text, with two decimal places, and a third only if it is not
    /// zero: `9.99`.
    fileprivate var amount: String {
        let (units, thousandths) = milliunits.magnitude.quotientAndRemainder(dividingBy: 1000)
        var digits = String(thousandths + 1000).dropFirst()
        if digits.last == "0" { digits.removeLast() }
        return "\(milliunits < 0 ? "-" : "")\(units).\(digits)"
    }

    /// Parses an ``amount``. Returns nil for any other text.
    fileprivate static func milliunits(_ amount: String) -> Int64? {
        let parts = amount.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, (2...3).contains(parts[1].utf8.count) else { return nil }
        return Int64(parts[0] + parts[1] + (parts[1].utf8.count == 2 ? "0" : ""))
    }
}
