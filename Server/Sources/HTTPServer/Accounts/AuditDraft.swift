import Engine
import Synchronization

/// What an act says of itself, for its entry in the audit. Ids of customers and secrets have no
/// place in it.
final class AuditDraft: Sendable {
    struct Content: Sendable {
        var subject: String?
        var before: AuditState?
        var after: AuditState?
        /// Whether nothing was done yet, as when somebody searched first.
        var isLeftOut = false
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

    /// Says that nothing was done, so that there is no entry. Call it before anything is read.
    func leaveOut() {
        stored.withLock { content in
            content.isLeftOut = true
            content.act?.leaveOut()
        }
    }

    /// Says which act it is.
    func pending(_ act: PendingAct?) { stored.withLock { $0.act = act } }
}
