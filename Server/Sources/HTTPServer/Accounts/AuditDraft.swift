import Engine
import Synchronization

/// What an act says of itself, for its entry in the audit. Secrets have no place in it, and ids of
/// customers only in the members that an erasure replaces: see ``RecordedAct/customerMembers``.
final class AuditDraft: Sendable {
    struct Content: Sendable {
        var subject: String?
        var before: AuditState?
        var after: AuditState?
        fileprivate var act: PendingAct?
    }

    private let stored = Mutex(Content())

    var content: Content { stored.withLock { $0 } }

    /// Says what was changed. Values that are nil are left out.
    func change(
        of subject: String? = nil, from before: [String: String?]? = nil,
        to after: [String: String?]? = nil
    ) {
        stored.withLock { content in
            if let subject { content.subject = subject }
            if let before { content.before = before.compactMapValues(\.self) }
            if let after { content.after = after.compactMapValues(\.self) }
        }
    }

    /// Cancels the audit entry of a request that only searched. Call this before anything is read.
    func leaveOut() {
        stored.withLock { $0.act?.leaveOut() }
    }

    /// Says which act it is.
    func pending(_ act: PendingAct?) { stored.withLock { $0.act = act } }
}
