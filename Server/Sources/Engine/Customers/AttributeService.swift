import Ledger
import PerennialContract
import Storage

/// A requested change of one attribute.
package struct AttributeChange: Hashable, Sendable {
    package var name: String
    /// Nil, or an empty text, deletes the attribute.
    package var value: String?
    /// When the value was set, by the client's clock. If nil, the change replaces any stored value.
    package var updatedAt: Instant?

    package init(name: String, value: String?, updatedAt: Instant? = nil) {
        self.name = name
        self.value = value
        self.updatedAt = updatedAt
    }
}

/// The result of changing attributes.
package struct AttributeResult: Hashable, Sendable {
    /// The customer's attributes afterwards, ordered by name.
    package var attributes: [CustomerAttribute]
    /// The changes that were not accepted.
    package var refused: [Refusal] = []

    package struct Refusal: Hashable, Sendable {
        package var name: String
        /// A sentence that says which rule the change breaks.
        package var why: String

        package init(name: String, why: String) { (self.name, self.why) = (name, why) }
    }
}

/// Reads and changes what apps say about customers.
package struct AttributeService: Sendable {
    let context: Context

    /// The attributes of a customer, ordered by name. Empty for an unknown id.
    package func all(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> [CustomerAttribute] {
        _ = try context.app(appID)
        try id.requireValid()
        return try await context.read { tx in
            guard let known = try tx.customers.find(known: id, in: appID) else { return [] }
            return try tx.attributes.all(of: known.customer, in: appID).filter { $0.value != nil }
        }
    }

    /// Changes attributes of a customer. An unknown id becomes a customer if a change is accepted.
    /// A change that is older than the stored value is accepted but has no effect. So requests may
    /// be repeated, and may arrive in any order, with two exceptions: a deletion of an unknown name
    /// has no effect, and a customer may reach a limit.
    ///
    /// The caller must have checked that the author may write about the customer.
    ///
    /// - Parameter isWhole: whether all changes are refused if one of them breaks a rule.
    /// - Throws: `invalidAttribute` if `isWhole` and a change breaks a rule; `limitExceeded` if
    ///   there are too many changes; `growthBudgetExhausted` if an app may add no more data.
    package func change(
        _ changes: [AttributeChange], of id: CustomerID, by author: CustomerAttribute.Author,
        isWhole: Bool, app appID: AppID
    ) async throws(EngineFailure) -> AttributeResult {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard changes.count <= AttributeRules.changesMax else {
            throw .limitExceeded(what: "attributes", limit: AttributeRules.changesMax)
        }
        let now = context.now()
        // Most requests of devices repeat what is known, and need no write.
        let known = try await context.read { tx in
            try AttributeDecisions(tx).known(of: id, in: appID)
        }
        let first = try AttributeDecisions.result(
            of: changes, to: known, by: author, isWhole: isWhole, at: now)
        guard first.attributes != known else { return first.shown }
        let wait = author == .app ? context.growth.wait(of: app, at: now) : nil
        let (result, added) = try await context.decide { tx -> Decision<(AttributeResult, Int)> in
            let new = try IdentityDecisions(tx).countUnknown([id], in: appID)
            let known = try AttributeDecisions(tx).known(of: id, in: appID)
            let result = try AttributeDecisions.result(
                of: changes, to: known, by: author, isWhole: isWhole, at: now)
            guard result.attributes != known else { return .unchanged((result.shown, 0)) }
            let growth = new + AttributeDecisions.growth(from: known, to: result.attributes)
            if let wait, growth > 0 { return .refused(.growthBudgetExhausted(wait: wait)) }
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now).customer
            try tx.attributes.replace(result.attributes, of: customer, in: appID)
            return .done((result.shown, growth))
        }
        if author == .app { context.growth.add(added, of: app, at: now) }
        return result
    }
}

extension AttributeResult {
    /// The result without deleted attributes, which stay stored without a value.
    fileprivate var shown: AttributeResult {
        AttributeResult(attributes: attributes.filter { $0.value != nil }, refused: refused)
    }
}

/// Decides the results of changes of attributes.
struct AttributeDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    func known(of id: CustomerID, in app: AppID) throws -> [CustomerAttribute] {
        guard let known = try tx.customers.find(known: id, in: app) else { return [] }
        return try tx.attributes.all(of: known.customer, in: app)
    }

    /// The number of items that a change of attributes counts as, for the growth limit of an app.
    /// The number is one for each multiple of 4 KB that the total size of the customer's attributes
    /// passes. So a large change counts as much as several small changes together.
    static func growth(from known: [CustomerAttribute], to all: [CustomerAttribute]) -> Int {
        max(0, bytes(of: all) / bytesPerGrowth - bytes(of: known) / bytesPerGrowth)
    }

    private static let bytesPerGrowth = 4096

    private static func bytes(of attributes: [CustomerAttribute]) -> Int {
        attributes.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) }
    }

    /// All attributes after the changes, including deleted ones, ordered by name.
    static func result(
        of changes: [AttributeChange], to known: [CustomerAttribute],
        by author: CustomerAttribute.Author, isWhole: Bool, at now: Instant
    ) throws(EngineFailure) -> AttributeResult {
        var all = Dictionary(known.map { ($0.name, $0) }) { one, _ in one }
        var refused: [AttributeResult.Refusal] = []
        for change in changes {
            guard let why = defect(of: change, in: all) else {
                apply(change, to: &all, by: author, at: now)
                continue
            }
            if isWhole { throw .invalidAttribute(change.name, why) }
            refused.append(AttributeResult.Refusal(name: change.name, why: why))
        }
        return AttributeResult(
            attributes: CustomerAttribute.limited(Array(all.values)), refused: refused)
    }

    private static func defect(
        of change: AttributeChange, in all: [String: CustomerAttribute]
    ) -> String? {
        let value = change.value.flatMap { $0.isEmpty ? nil : $0 }
        if let why = AttributeRules.defect(of: change.name, value) { return why }
        guard value != nil, all[change.name]?.value == nil else { return nil }
        let isReserved = CustomerAttribute.isReserved(change.name)
        let count = all.values.count { $0.value != nil && $0.isReserved == isReserved }
        let most = isReserved ? CustomerAttribute.reservedMax : CustomerAttribute.ownMax
        guard count >= most else { return nil }
        return isReserved
            ? "A customer has at most \(most) attributes with reserved names. Delete one first."
            : "A customer has at most \(most) attributes with names of your own. Delete one first."
    }

    private static func apply(
        _ change: AttributeChange, to all: inout [String: CustomerAttribute],
        by author: CustomerAttribute.Author, at now: Instant
    ) {
        let value = change.value.flatMap { $0.isEmpty ? nil : $0 }
        // Such an attribute asks the server to fill in data about the request, such as the device's
        // address. The server stores no such data, so it ignores the attribute.
        if value != nil, CustomerAttribute.requests.contains(change.name) { return }
        let known = all[change.name]
        guard value != nil || known != nil else { return }
        var new = CustomerAttribute(
            name: change.name, value: value,
            updatedAt: min(max(change.updatedAt ?? now, Instant(milliseconds: 0)), now),
            author: author)
        let isAhead = change.updatedAt.map { $0 > now } ?? false
        if change.updatedAt == nil || (isAhead && !new.isWriteOnce) {
            // Such a change counts as made on arrival. So it replaces the stored value, also if
            // that value arrived in the same millisecond, or if another server, whose clock is a
            // little ahead, stored it.
            new.updatedAt = max(now, known?.updatedAt ?? now)
            guard isAhead || known?.value != value || known?.author != author else { return }
            all[change.name] = new
            return
        }
        if known.map(new.outranks) ?? true { all[change.name] = new }
    }
}
