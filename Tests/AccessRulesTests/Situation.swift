import AccessRules
import Foundation
import PerennialContract
import Testing

/// One row of the table of situations: the evidence, and the decision about the right `pro`.
struct Situation: Sendable, CustomTestStringConvertible {
    var claim: String
    var heard: String
    var expected: String
    var testDescription: String { claim }

    struct Unreadable: Error, CustomStringConvertible {
        var description: String
        init(_ text: String) { description = "not a row of this table: \(text)" }
    }

    static let products: [String: (kind: StoreTransaction.Kind, gives: String?)] = [
        "month": (.renewing, "pro"), "year": (.renewing, "pro"), "basic": (.renewing, "basic"),
        "odd": (.renewing, nil), "guide": (.nonConsumable, "pro"),
        "season": (.nonRenewing, "pro"), "coins": (.consumable, "pro"),
    ]

    static let meanings = products.compactMapValues { product in
        product.gives.map { ProductMeaning(entitlements: [$0]) }
    }

    static func rows() throws -> [Situation] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Tables/situations.txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") && !$0.isEmpty }.map { line in
                guard let match = line.wholeMatch(of: #/([^:]+): (.+) => (.+)/#)?.output else {
                    throw Unreadable(String(line))
                }
                return Situation(
                    claim: String(match.1), heard: String(match.2), expected: String(match.3))
            }
    }

    /// The evidence of the row. The present time is 0.
    func evidence() throws -> Evidence {
        var evidence = Evidence(
            person: nil, store: StoreEvidence(isTrusted: true), meanings: Self.meanings,
            now: Timestamp(milliseconds: 0))
        evidence.server = ServerEvidence(
            asOf: Timestamp(milliseconds: -90 * 86_400_000), isLive: false, offlineUntil: nil,
            rights: [:], verdicts: [:])
        for phrase in heard.components(separatedBy: "; ") {
            var words = Words(phrase)
            switch try words.next() {
            case "nothing": break
            case "person": evidence.person = try words.next()
            case "untrusted": evidence.store.isTrusted = false
            case "first": evidence.server = nil
            case "unread": evidence.isStoreRead = false
            case "silent": (evidence.isStoreRead, evidence.isStoreSilent) = (false, true)
            case "unsent": evidence.isAnythingUnsent = true
            case "alone": (evidence.server, evidence.isStoreAlone) = (nil, true)
            case "offerings": try words.offerings(&evidence)
            case "answered": try words.answered(&evidence)
            case "server": evidence.server = try words.server(isLive: true)
            case "token": evidence.server = try words.server(isLive: false)
            case "right": try words.right(&evidence)
            case "verdict":
                evidence.server?.verdicts[try words.next()] = try words.verdict()
            case "kept": evidence.keptVerdicts[try words.next()] = try words.verdict()
            case "absent": evidence.store.absent.insert(try words.next())
            case "status":
                let status = try words.status()
                evidence.store.statuses[status.originalID] = status
            case "buy": try words.transaction(&evidence)
            default: throw Unreadable(phrase)
            }
            guard words.isEmpty else { throw Unreadable(phrase) }
        }
        return evidence
    }

    /// The decision as the table writes it, but only the parts that the row expects.
    func decided() throws -> String {
        let decision = AccessRules.decision(on: "pro", by: try evidence())
        var words = [!decision.isKnown ? "unknown" : decision.isActive ? "open" : "shut"]
        if decision.isKnown { words.append(decision.state.rawValue) }
        func add(_ word: String, _ value: String) {
            if expected.contains(" \(word) ") { words.append("\(word) \(value)") }
        }
        add("until", decision.until.map(Words.text) ?? "never")
        add("by", "\(decision.basis)")
        add("rule", "\(decision.rule)")
        add("renewal", decision.willRenew.map { $0 ? "on" : "off" } ?? "unknown")
        add("of", decision.productID ?? "nothing")
        add("changes", decision.changesAt.map(Words.text) ?? "never")
        return words.joined(separator: " ")
    }
}

/// The words of one phrase of the table, read from the left.
struct Words {
    private var rest: ArraySlice<Substring>

    init(_ phrase: String) { rest = phrase.split(separator: " ")[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func next() throws -> String {
        guard let word = rest.popFirst() else { throw Situation.Unreadable("a phrase is cut off") }
        return String(word)
    }

    mutating func skip(_ word: String) -> Bool {
        guard rest.first == word[...] else { return false }
        rest.removeFirst()
        return true
    }

    mutating func time() throws -> Timestamp {
        let word = try next()
        guard let match = word.wholeMatch(of: #/(-?\d+)(d|h|m|s)/#)?.output,
            let count = Int64(match.1), let unit = Self.units[String(match.2)]
        else { throw Situation.Unreadable(word) }
        return Timestamp(milliseconds: count * unit)
    }

    /// Reads a word and the time after it. Returns nil if the next word is another word.
    mutating func time(after word: String) throws -> Timestamp? {
        skip(word) ? try time() : nil
    }

    static func text(_ time: Timestamp) -> String {
        let count = time.milliseconds
        for (name, unit) in [("d", units["d"]), ("h", units["h"]), ("m", units["m"])] {
            if let unit, count % unit == 0 { return "\(count / unit)\(name)" }
        }
        return "\(count / 1000)s"
    }

    private static let units: [String: Int64] = [
        "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000,
    ]
}

// MARK: - Phrases

extension Words {
    mutating func offerings(_ evidence: inout Evidence) throws {
        evidence.areMeaningsCurrent = false
        switch try next() {
        case "kept": break
        case "none": (evidence.meanings, evidence.termEnds) = ([:], [:])
        default: throw Situation.Unreadable("which offerings")
        }
    }

    mutating func answered(_ evidence: inout Evidence) throws {
        switch try next() {
        case "server": evidence.serverAnsweredAt = try time()
        case "store": evidence.store.answeredAt = try time()
        default: throw Situation.Unreadable("who answered")
        }
    }

    mutating func server(isLive: Bool) throws -> ServerEvidence {
        ServerEvidence(
            asOf: try time(), isLive: isLive, offlineUntil: try time(after: "offline"), rights: [:],
            verdicts: [:])
    }

    mutating func right(_ evidence: inout Evidence) throws {
        let name = try next()
        let state = AccessState(rawValue: try next())
        var right = ServerEvidence.Right(
            isActive: ![.expired, .refunded, .revoked, .retry].contains(state), state: state,
            until: try time(after: "until"))
        if skip("of") {
            right.originalTransactionID = try next()
            right.productID = "month"
        }
        right.mayRenew = skip("renews")
        right.willRenew = skip("on") ? true : skip("off") ? false : nil
        evidence.server?.rights[name] = right
    }

    mutating func verdict() throws -> Verdict {
        switch try next() {
        case "theirs": .theirs
        case "anonymous": .anonymous
        case "another": .anotherPerson
        default: throw Situation.Unreadable("a verdict")
        }
    }

    mutating func status() throws -> StoreStatus {
        let id = try next()
        guard let state = StoreStatus.State(rawValue: try next()) else {
            throw Situation.Unreadable("a status")
        }
        var status = StoreStatus(
            originalID: id, state: state, willRenew: nil, graceUntil: try time(after: "until"),
            signedAt: try time(after: "signed") ?? Timestamp(milliseconds: 0),
            isConfirmed: !skip("once"))
        if let seen = try time(after: "seen") {
            status.firstLapse = Sighting(seenAt: seen, launch: 1)
        }
        status.willRenew = skip("on") ? true : skip("off") ? false : nil
        return status
    }

    mutating func transaction(_ evidence: inout Evidence) throws {
        let id = try next()
        let original = skip("in") ? try next() : id
        let product = try next()
        guard let kind = Situation.products[product]?.kind, skip("from") else {
            throw Situation.Unreadable("a purchase of \(product)")
        }
        let from = try time()
        let end = try time(after: "to")
        var bought = StoreTransaction(
            id: id, originalID: original, productID: product, kind: kind, purchasedAt: from,
            expiresAt: kind == .renewing ? end : nil, signedAt: from)
        bought.revokedAt = try time(after: "refunded")
        if let end = try time(after: "unshared") {
            (bought.revokedAt, bought.isRevokedByFamily, bought.isFamilyShared) = (end, true, true)
        }
        bought.isUpgraded = skip("upgraded")
        bought.offer = skip("trial") ? .trial : skip("offer") ? .other : .none
        bought.isHeld = skip("held")
        bought.isAcknowledged = !skip("new")
        if skip("for") { bought.firstSeenFor = try next() }
        if let signed = try time(after: "signed") { bought.signedAt = signed }
        evidence.store.transactions[id] = bought
        if kind == .nonRenewing { evidence.termEnds[id] = end }
    }
}
