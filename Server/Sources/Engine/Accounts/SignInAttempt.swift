import Ledger
import Logging
import Storage

/// The limit of attempts that was reached.
package enum SignInLimit: Hashable, Sendable {
    /// The limit of one name from one address.
    case nameFromAddress
    /// The limit of one address, for all names.
    case address
    /// The limit of one name, from all addresses together.
    case name
}

/// One attempt with a password, and the keys under which it is counted.
///
/// Anyone can try any name, so a few wrong attempts must not lock out its operator. Wrong attempts
/// are counted for the name and the address together, so an operator at another address is not
/// affected. The limit for a name from all addresses is loose. That limit never locks out anyone
/// for long, but allows one more attempt after each pause. So the number of guesses in a day is
/// limited even for someone with many addresses. This limit does not apply to networks from which
/// the operator has signed in recently, because someone with many addresses could use up all
/// attempts.
struct SignInAttempt: Sendable {
    private static let addressCharactersMax = 64

    var name: String
    /// An address, or the network that counts as one address: see ``SignInPlace/network``.
    var network: String
    /// Whether the operator has signed in from the network recently. If so, the attempt is not
    /// counted for the name alone.
    var isFromKnownPlace = false

    // Each key begins with a word for what is counted, and no address contains a space. So two
    // different things never have the same key.
    var nameFromAddress: String { "from \(cut(network)) \(ofName)" }
    var fromAddress: String { "address \(cut(network))" }
    var ofName: String { "name \(name.prefix(OperatorName.charactersMax))" }

    private func cut(_ text: String) -> String {
        String(text.filter { $0 != " " }.prefix(Self.addressCharactersMax))
    }

    /// The result of counting an attempt.
    enum Count: Sendable {
        case refused(SignInLimit, until: Instant)
        /// - Parameter shutUntil: when attempts are possible again, if no try is left.
        case counted(triesLeft: Int, shutUntil: Instant)

        /// The result of the sign-in if the password is wrong.
        var failure: SignInResult {
            switch self {
            case .refused(let limit, let until): .shut(until: until, by: limit)
            case .counted(0, let until): .shut(until: until, by: .nameFromAddress)
            case .counted(let left, _): .wrong(triesLeft: left)
            }
        }
    }
}

extension SessionService {
    /// The maximum number of attempts in a row with one name from one address. ``triesFromAddress``
    /// is the maximum from one address with any names.
    package static let triesOfNameFromAddress = 5
    static let triesFromAddress = 20
    /// The maximum number of attempts with one name from all addresses. After each pause one more
    /// attempt is allowed, up to this number.
    static let triesOfName = 100
    static let pauseOfName = Duration.seconds(10)
    /// The time after the last allowed attempt during which further attempts are refused.
    static let shutFor = Duration.seconds(60)
    /// Failures are forgotten after this time without another failure.
    static let failuresLast = Duration.seconds(900)
    /// How long a network counts as known after a sign-in from it.
    package static let placesLast = Duration.days(90)
    /// The maximum number of known networks of one operator. Only the networks that were used last
    /// are kept.
    static let placesOfOperatorMax = 50

    /// Counts an attempt before the password is checked, so that concurrent attempts count like
    /// consecutive attempts. A success resets the count.
    func count(_ attempt: SignInAttempt) async throws(EngineFailure) -> SignInAttempt.Count {
        let now = context.now()
        let count = try await context.transaction { tx -> SignInAttempt.Count in
            try tx.signIns.deleteFailures(before: now - Self.failuresLast)
            var own = try OperatorDecisions(tx).failuresInRow(of: attempt.nameFromAddress, at: now)
            var address = try OperatorDecisions(tx).failuresInRow(of: attempt.fromAddress, at: now)
            var name = try OperatorDecisions(tx).drainedFailures(of: attempt.ofName, at: now)
            if let until = own.shutUntil { return .refused(.nameFromAddress, until: until) }
            if let until = address.shutUntil { return .refused(.address, until: until) }
            guard attempt.isFromKnownPlace || name.count < Self.triesOfName else {
                return .refused(.name, until: name.lastAt + Self.pauseOfName)
            }
            let until = now + Self.shutFor
            own.add(at: now, shutUntil: own.count + 1 >= Self.triesOfNameFromAddress ? until : nil)
            address.add(
                at: now, shutUntil: address.count + 1 >= Self.triesFromAddress ? until : nil)
            if !attempt.isFromKnownPlace { name.count += 1 }
            for failures in [own, address, name] { try tx.signIns.save(failures) }
            return .counted(
                triesLeft: max(0, Self.triesOfNameFromAddress - own.count), shutUntil: until)
        }
        if case .refused(let limit, _) = count {
            context.logger.warning(
                "a sign-in was refused after too many tries",
                metadata: ["address": .string(attempt.network), "limit": "\(limit)"])
        }
        return count
    }
}

extension SignInFailures {
    fileprivate mutating func add(at now: Instant, shutUntil until: Instant?) {
        count += 1
        lastAt = now
        shutUntil = until
    }

    func isForgotten(at now: Instant) -> Bool {
        if let shutUntil { return shutUntil <= now }
        return lastAt + SessionService.failuresLast <= now
    }

    /// The failures that remain if one failure is forgotten after each pause. The time since the
    /// last whole pause counts towards the next pause.
    func drained(at now: Instant) -> Self {
        let pause = SessionService.pauseOfName.wholeMilliseconds
        let pauses = max(0, (now.milliseconds - lastAt.milliseconds) / pause)
        guard Int64(count) > pauses else { return Self(subject: subject, lastAt: now) }
        var rest = self
        rest.count -= Int(pauses)
        rest.lastAt = Instant(milliseconds: lastAt.milliseconds + pauses * pause)
        return rest
    }
}
