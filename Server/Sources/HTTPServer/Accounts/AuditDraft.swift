import Engine
import Synchronization

/// The details of an act for its entry in the audit. The details must not contain secrets. Only the
/// members that an erasure replaces may contain ids of customers: see
/// ``RecordedAct/customerMembers``.
final class AuditDraft: Sendable {
    struct Content: Sendable {
        var subject: String?
        var before: AuditState?
        var after: AuditState?
        fileprivate var act: PendingAct?
    }

    private let stored = Mutex(Content())

    var content: Content { stored.withLock { $0 } }

    /// Sets the changed values. Omits values that are nil.
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

    /// Cancels the audit entry of a request that only searched. Call this function before the
    /// request reads anything.
    func leaveOut() {
        stored.withLock { $0.act?.leaveOut() }
    }

    /// Sets the act to which the details belong, or nil.
    func pending(_ act: PendingAct?) { stored.withLock { $0.act = act } }
}
