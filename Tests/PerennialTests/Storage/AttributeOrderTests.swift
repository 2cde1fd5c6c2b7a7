import Foundation
import PerennialContract
import Testing

@testable import Perennial

/// The server keeps the value that the app set last, although the device only estimates the
/// server's time, answers get lost, and the process ends at any moment.
@Suite struct AttributeOrderTests {
    private static let name = "team"
    private static let year: Int64 = 365 * 86_400_000

    // MARK: - A table

    private static let rows: [[Step]] = [
        [.set("red"), .send(), .set(nil), .send()],
        // The second answer came later, so the device's estimate went back.
        [.set("red"), .send(), .error(-1), .set(nil), .send()],
        [.set("red"), .send(), .error(-2), .set(nil), .send()],
        [.set("red"), .send(), .error(-3), .set("blue"), .send()],
        [.set(nil), .send(), .error(-2), .set("red"), .send()],
        [.error(5_000), .set("red"), .send(), .error(-5_000), .set(nil), .send()],
        // The answer was lost: the server has stored the value.
        [.error(20), .set("red"), .send(.answerLost), .error(-20), .set(nil), .send()],
        [
            .error(20), .set("red"), .send(.answerLost), .error(-20), .send(), .set("blue"),
            .send(),
        ],
        [.set("red"), .send(.requestLost), .error(-20), .set(nil), .send()],
        // The app makes a change while an earlier one is on its way.
        [.set("red"), .send(during: "blue"), .error(-20), .send()],
        [.set("red"), .send(.answerLost, during: "blue"), .error(-20), .send()],
        // The device was restarted, so the time of the change cannot be counted back.
        [.set("red"), .send(), .error(-20), .set(nil), .restart, .send()],
        [.set("red"), .restart, .send(), .error(-20), .set("blue"), .restart, .send()],
        // The device's clock was wrong by a year.
        [.error(year), .set("red"), .send(), .error(0), .set(nil), .send()],
        [.error(year), .set("red"), .send(.answerLost), .error(0), .set(nil), .send()],
        [.error(-year), .set("red"), .send(), .error(-2 * year), .set(nil), .send()],
    ]

    @Test(arguments: rows)
    func `the server keeps the value that was set last`(steps: [Step]) throws {
        var life = Life()
        for step in steps { try life.play(step, name: Self.name) }
        #expect(life.stored(Self.name) == life.lastSet[Self.name])
    }

    // MARK: - Random lives

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `the server keeps the values that were set last in a random life`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        var life = Life()
        var log: [String] = []
        for _ in 0..<40 {
            let (step, name) = (Step(&dice), dice.pick(["team", "bird"]))
            log.append("\(name): \(step)")
            try life.play(step, name: name)
        }
        try life.play(.send(), name: Self.name)
        for name in ["team", "bird"] {
            #expect(life.stored(name) == life.lastSet[name] ?? nil, "seed \(seed): \(log)")
        }
    }

    // MARK: - Accuracy

    @Test func `an acknowledged change of a wrong clock does not date later changes`() throws {
        var life = Life()
        for step in [.error(Self.year), .set("red"), .send(), .error(0)] as [Step] {
            try life.play(step, name: Self.name)
        }
        let moment = life.now
        for step in [.set("blue"), .pass(3_600_000), .send()] as [Step] {
            try life.play(step, name: Self.name)
        }
        // The acknowledged change has the time of the moment, so the next change is later.
        #expect(life.server[Self.name]?.at == moment + 1)
    }

    @Test func `a change that waited during the acknowledgement is dated correctly, too`() throws {
        var life = Life()
        for step in [.error(Self.year), .set("red"), .send(.answerLost)] as [Step] {
            try life.play(step, name: Self.name)
        }
        try life.play(.error(0), name: Self.name)
        try life.play(.send(during: "blue"), name: Self.name)
        let moment = life.now
        try life.play(.pass(3_600_000), name: Self.name)
        try life.play(.send(), name: Self.name)
        let at = try #require(life.server[Self.name]?.at)
        #expect(abs(at - moment) <= 2 * Life.travel)
    }

    // MARK: - A life

    enum Fate: CaseIterable, Sendable {
        case answered, answerLost, requestLost
    }

    enum Step: Sendable {
        /// Sets the attribute, or deletes it.
        case set(String?)
        /// Sends everything that waits. The app may set the value `during` meanwhile.
        case send(Fate = .answered, during: String? = nil)
        /// From now on the device's estimate of the server's time is ahead by these milliseconds.
        case error(Int64)
        case pass(Int64)
        /// The device restarts.
        case restart

        init(_ dice: inout SeededDice) {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0...2: self = .set(dice.pick(["red", "blue", "z", nil]))
            case 3...5:
                self = .send(
                    dice.pick(Fate.allCases), during: dice.once(in: 4) ? "during" : nil)
            case 6, 7:
                self = .error(
                    dice.pick([0, -1, -2, -3, 1, 2, 50, -50, 5_000, -5_000, year, -year]))
            case 8: self = .pass(Int64.random(in: 0...5, using: &dice))
            default: self = .restart
            }
        }
    }

    /// An app and a server. After each step the app's process ends, and a new process reads the
    /// file.
    private struct Life {
        /// The milliseconds for which a request or an answer travels.
        static let travel: Int64 = 1

        /// The server's time.
        private(set) var now: Int64 = 1_798_027_200_000
        private var error: Int64 = 0
        private var boots = 1
        private var bootedAt: Int64 = 1_798_027_100_000
        private var pending = PendingAttributes()
        private(set) var server: [String: (at: Int64, value: String?)] = [:]
        private(set) var lastSet: [String: String?] = [:]

        func stored(_ name: String) -> String? { server[name]?.value }

        mutating func play(_ step: Step, name: String) throws {
            switch step {
            case .set(let value): set(name, value)
            case .send(let fate, let value): try send(fate, setting: name, to: value)
            case .error(let milliseconds): error = milliseconds
            case .pass(let milliseconds): now += milliseconds
            case .restart:
                boots += 1
                bootedAt = now
            }
            try relaunch()
        }

        private mutating func relaunch() throws {
            pending = try PendingAttributes(pending.bytes, version: 2)
        }

        private var moment: PendingAttribute.Moment {
            PendingAttribute.Moment(
                Timestamp(milliseconds: now + error), monotonic: now - bootedAt,
                bootID: "boot \(boots)")
        }

        private mutating func set(_ name: String, _ value: String?) {
            pending.set([(name, value)], for: "anna", isAnonymous: false, at: moment)
            lastSet[name] = .some(value)
        }

        private mutating func send(
            _ fate: Fate, setting name: String, to value: String?
        ) throws {
            let batch = pending.changes
            let moment = moment
            pending.recordSending(of: batch, asOf: moment)
            try relaunch()
            if let value { set(name, value) }
            now += Self.travel
            if fate != .requestLost { for change in batch { store(change, asOf: moment) } }
            now += Self.travel
            guard fate == .answered, !batch.isEmpty else { return }
            pending.remove(batch)
            pending.recordAnswer(at: Timestamp(milliseconds: now))
        }

        /// Follows the server's rule: the later value stays; at one moment, the greater value.
        private mutating func store(
            _ change: PendingAttribute, asOf moment: PendingAttribute.Moment
        ) {
            let at = min(max(change.time(asOf: moment).milliseconds, 0), now)
            if let known = server[change.name] {
                guard (at, change.value ?? "") > (known.at, known.value ?? "") else { return }
            } else if change.value == nil {
                return
            }
            server[change.name] = (at, change.value)
        }
    }
}
