import Ledger
import Logging
import Storage

/// Which limit of tries has been reached.
package enum SignInLimit: Hashable, Sendable {
    /// That of a name from one address.
    case nameFromAddress
    /// That of an address, whatever the names.
    case address
    /// That of a name, from all addresses together.
    case name
}

/// One try of a password, and what it is counted for.
///
/// Anybody can try any name, so few wrong tries must not keep its operator out: those are counted
/// for the name and the address together, and an operator who is somewhere else is not concerned.
/// For a name from all addresses the limit is loose. It is never shut for long, but gives one more
/// try at a time, so that the guesses of a day have a limit also if somebody has many addresses. It
/// does not concern the networks from which the operator has signed in lately, because otherwise
/// somebody with many addresses could take every one of these tries.
struct SignInAttempt: Sendable {
    private static let addressCharactersMax = 64

    var name: String
    /// An address, or the network that counts as one: see ``SignInPlace/network``.
    var network: String
    /// Whether the operator has signed in from the network lately. From there only the first two
    /// limits count.
    var isFromKnownPlace = false

    // The first word says what it is, and no address contains a space: so no two are the same.
    var nameFromAddress: String { "from \(cut(network)) \(ofName)" }
    var fromAddress: String { "address \(cut(network))" }
    var ofName: String { "name \(name.prefix(OperatorName.charactersMax))" }

    private func cut(_ text: String) -> String {
        String(text.filter { $0 != " " }.prefix(Self.addressCharactersMax))
    }

    /// What came of counting it.
    enum Count: Sendable {
        case refused(SignInLimit, until: Instant)
        /// - Parameter shutUntil: if no tries are left, when there are some again.
        case counted(triesLeft: Int, shutUntil: Instant)

        /// What to answer if the password is wrong.
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
    /// Tries in a row by one name from one address, and from one address by any name.
    package static let triesOfNameFromAddress = 5
    static let triesFromAddress = 20
    /// Tries by one name from all addresses. One is added after each pause, up to this number.
    static let triesOfName = 100
    static let pauseOfName = Duration.seconds(10)
    /// How long every further try is refused.
    static let shutFor = Duration.seconds(60)
    /// Failures are forgotten after so long without another one.
    static let failuresLast = Duration.seconds(900)
    /// How long a network is known from which an operator has signed in.
    package static let placesLast = Duration.days(90)
    /// The maximum number of networks that are known of one operator: the ones used last.
    static let placesOfOperatorMax = 50

    /// Counts a try before the password is looked at, so that many at once are no more than many
    /// in a row. A success resets it.
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

    /// What is left if one is forgotten after each pause. The rest of the last pause is not lost.
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
