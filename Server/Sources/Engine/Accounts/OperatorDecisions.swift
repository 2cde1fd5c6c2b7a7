import Crypto
import Ledger
import Logging
import Storage

/// Decides who may sign in, accept an invitation and manage operators.
struct OperatorDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The link with a hash, if it still works. Nil otherwise.
    func usableLink(hash: [UInt8], at now: Instant) throws -> OperatorLink? {
        guard let link = try tx.operatorLinks.find(hash: hash), link.until > now else { return nil }
        switch link.kind {
        case .first: return try tx.operators.hasAny() ? nil : link
        case .invitation: return link
        case .reset:
            return try link.operatorName.flatMap(tx.operators.named)?.ifActive == nil ? nil : link
        }
    }

    /// The invitation for a name, if it still works. Nil otherwise.
    func invitation(of name: String, at now: Instant) throws -> OperatorLink? {
        try tx.operatorLinks.all().first {
            $0.kind == .invitation && $0.operatorName == name && $0.until > now
        }
    }

    /// Deletes the links that set the operator's password, and the links that the operator has
    /// made. Otherwise, someone who had the operator's session could use such a link to regain
    /// access. Returns the number of deleted links.
    @discardableResult
    func deleteLinks(thatReturn name: String) throws -> Int {
        try tx.operatorLinks.delete(.reset, for: name) + tx.operatorLinks.delete(by: name)
    }

    /// Requires that the author of an action may manage operators. Call this function in the
    /// transaction of the action, because the author may have been blocked since the page was
    /// requested. Authors that are programs, not operators, may do everything.
    ///
    /// - Throws: ``EngineFailure/notManager(_:)`` if the author is an operator who is blocked, or
    ///   who may not manage operators.
    func requireMayManageOperators(_ author: String) throws {
        guard let account = try tx.operators.named(author) else { return }
        guard account.blockedAt == nil, account.roles.manageOperators else {
            throw EngineFailure.notManager(author)
        }
    }

    /// Requires that, after a change, another operator is still an admin of every app.
    ///
    /// - Parameter name: the operator who will not be an admin of every app after the change.
    func requireAdmin(without name: String) throws {
        guard
            try tx.operators.all().contains(where: {
                $0.roles.manageOperators && $0.blockedAt == nil
            })
        else {
            throw EngineFailure.invalidOperator(
                "\(name) is the only admin of every app. Make another user one first.")
        }
    }

    /// The stored hash of an operator's password. Nil if the operator is blocked, or unknown.
    func usablePassword(of name: String) throws -> String? {
        guard let account = try tx.operators.named(name), account.blockedAt == nil else {
            return nil
        }
        return try tx.operators.password(of: name)
    }

    /// Records that an operator has signed in, and from which place.
    func recordSignIn(of name: String, from place: SignInPlace, at now: Instant) throws {
        try tx.operators.recordSignIn(of: name, at: now)
        try tx.signIns.record(
            of: name, from: place.network, at: now, since: now - SessionService.placesLast,
            max: SessionService.placesOfOperatorMax)
    }

    func failuresInRow(
        of subject: String, at now: Instant
    ) throws -> SignInFailures {
        guard let found = try tx.signIns.failures(of: subject), !found.isForgotten(at: now) else {
            return SignInFailures(subject: subject, lastAt: now)
        }
        return found
    }

    func drainedFailures(
        of subject: String, at now: Instant
    ) throws -> SignInFailures {
        try tx.signIns.failures(of: subject)?.drained(at: now)
            ?? SignInFailures(subject: subject, lastAt: now)
    }

    /// Deletes all recorded failures of a name, because its password was changed.
    func deleteFailures(ofName attempt: SignInAttempt) throws {
        try tx.signIns.deleteFailures(of: attempt.nameFromAddress)
        try tx.signIns.deleteFailures(of: attempt.ofName)
    }

    /// After a successful attempt, forgets the earlier attempts with this name from this address.
    /// Other attempts from the address, and other attempts with the name, still count. Otherwise
    /// someone with an account could try other accounts without limit.
    ///
    /// - Parameter count: how many attempts the sign-in consisted of.
    func forgive(_ attempt: SignInAttempt, count: Int = 1) throws {
        try tx.signIns.deleteFailures(of: attempt.nameFromAddress)
        let others =
            attempt.isFromKnownPlace
            ? [attempt.fromAddress] : [attempt.fromAddress, attempt.ofName]
        for subject in others {
            guard var failures = try tx.signIns.failures(of: subject) else { continue }
            failures.count -= count
            failures.shutUntil = nil
            if failures.count > 0 {
                try tx.signIns.save(failures)
            } else {
                try tx.signIns.deleteFailures(of: subject)
            }
        }
    }
}
