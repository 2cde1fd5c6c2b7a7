import Crypto
import Foundation
import Ledger
import Storage
import Synchronization

/// What an action has changed: names and values for the audit, without secrets and without ids of
/// customers.
package typealias AuditState = [String: String]

/// A page of the audit, the newest entry first.
package struct AuditPage: Sendable {
    package var entries: [RecordedAct]
    /// The position of the next page. Nil on the last page.
    package var next: RecordedAct.Position?
}

/// An operator's action in progress, and its entry in the audit. The entry is committed together
/// with the first rows that the action writes, so that neither exists without the other.
package final class PendingAct: Sendable {
    private enum State {
        /// No transaction was committed with the entry yet.
        case due
        /// The requested change had been made before. A later transaction of the action may still
        /// change something.
        case unchanged
        case appended
        case leftOut
    }

    let entry: RecordedAct
    private let state = Mutex(State.due)

    fileprivate init(_ entry: RecordedAct) { self.entry = entry }

    /// The action that the present task carries out. Transactions read this value, so that the
    /// functions between the page and the database need not pass it on.
    @TaskLocal package static var current: PendingAct?

    /// The name of the action, for example `customers.grants`.
    package var name: String { entry.act }

    /// The entry, if no transaction was committed with it yet. Nil if the entry was committed, or
    /// is not to be written.
    var dueEntry: RecordedAct? {
        switch state.withLock({ $0 }) {
        case .due, .unchanged: entry
        case .appended, .leftOut: nil
        }
    }

    /// Whether the action has changed nothing, so that it has no entry.
    var hasNoEntry: Bool {
        switch state.withLock({ $0 }) {
        case .due, .appended: false
        case .unchanged, .leftOut: true
        }
    }

    func record(_ outcome: ActOutcome) {
        state.withLock { state in
            switch outcome {
            case .done: state = .appended
            case .unchanged: state = .unchanged
            case .refused: break
            }
        }
    }

    /// Records that nothing was done, so that there is no entry.
    package func leaveOut() { state.withLock { $0 = .leftOut } }
}

/// The outcome of an action in a transaction.
enum ActOutcome: Hashable, Sendable {
    case done
    /// The action had been done before, and nothing was written: for example when a form is sent
    /// twice.
    case unchanged
    case refused
}

/// The audit entries about the actions of operators and servers.
package struct AuditService: Sendable {
    let context: Context

    /// The maximum number of entries of one page.
    package static let auditEntriesMax = RecordedAct.pageMax
    private static let entryBytes = 16
    private static let valueCharactersMax = 500

    /// Begins an action for an app. The action's entry is appended with the first transaction that
    /// the action commits, if the action runs as ``PendingAct/current``.
    package func begin(
        _ act: String, by author: String, app: AppID, environment: Ledger.Environment? = nil,
        customer: CustomerID? = nil, subject: String? = nil
    ) -> PendingAct {
        var entry = entry(act, by: author, subject: subject, after: nil)
        (entry.app, entry.environment, entry.customer) = (app, environment, customer)
        return PendingAct(entry)
    }

    /// Adds the result to an action's entry, and appends the entry if no transaction has appended
    /// it. Does nothing if the action has changed nothing.
    ///
    /// - Parameter subject: the object of the action; nil for the object that was named when the
    ///   action began.
    package func complete(
        _ act: PendingAct, subject: String? = nil, before: AuditState? = nil,
        after: AuditState? = nil
    ) async throws(EngineFailure) {
        guard !act.hasNoEntry else { return }
        var entry = act.entry
        entry.subject = subject ?? entry.subject
        (entry.before, entry.after) = (before.flatMap(Self.text), after.flatMap(Self.text))
        let completed = entry
        do { try await context.db.transaction { tx in try tx.audit.complete(completed) } } catch {
            throw EngineFailure(error)
        }
    }

    /// The entries about an app, or about the server, the newest first.
    ///
    /// - Parameter app: nil for entries about the server.
    /// - Parameter position: the ``AuditPage/next`` of the page before; nil for the first page.
    package func page(
        of app: AppID?, before position: RecordedAct.Position? = nil, limit: Int
    ) async throws(EngineFailure) -> AuditPage {
        var entries = try await context.read { tx in
            try tx.audit.entries(of: app, before: position, limit: limit + 1)
        }
        guard entries.count > limit else { return AuditPage(entries: entries, next: nil) }
        entries.removeLast()
        return AuditPage(entries: entries, next: entries.last?.position)
    }

    /// A new entry about the server, with the present time.
    func entry(
        _ act: String, by author: String, subject: String? = nil, _ after: AuditState
    ) -> RecordedAct {
        entry(act, by: author, subject: subject, after: after)
    }

    /// A new entry about the server, with the present time.
    func entry(
        _ act: String, by author: String, subject: String? = nil, before: AuditState? = nil,
        after: AuditState? = nil
    ) -> RecordedAct {
        let id = SymmetricKey(size: SymmetricKeySize(bitCount: Self.entryBytes * 8))
            .withUnsafeBytes { Hexadecimal.text($0) }
        return RecordedAct(
            app: nil, at: context.now(), id: id, author: author, act: act, subject: subject,
            before: before.flatMap(Self.text), after: after.flatMap(Self.text))
    }

    private static func text(_ state: AuditState) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let short = state.mapValues { String($0.prefix(valueCharactersMax)) }
        // Texts can always be encoded.
        return (try? encoder.encode(short)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension RecordedAct {
    /// The values before the action. Nil if unknown.
    package var stateBefore: AuditState? { before.flatMap(Self.state) }
    /// The values after the action. Nil if unknown.
    package var stateAfter: AuditState? { after.flatMap(Self.state) }

    private static func state(_ text: String) -> AuditState? {
        try? JSONDecoder().decode(AuditState.self, from: Data(text.utf8))
    }
}

extension RecordedAct.Position: LosslessStringConvertible {
    /// Parses what ``description`` returns. Returns nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let at = Int64(parts[0]), parts[1].utf8.count == 32,
            Hexadecimal.bytes(parts[1]) != nil
        else { return nil }
        self.init(at: Instant(milliseconds: at), id: String(parts[1]))
    }

    package var description: String { "\(at.milliseconds)_\(id)" }
}
