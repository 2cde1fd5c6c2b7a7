import Dice
import Ledger
import Testing

private let start = Chronicle.start

/// One purchase and its log of changes. Tests add facts and let time pass.
struct Chronicle {
    static let start = Instant(milliseconds: 1_700_000_000_000)

    private(set) var timeline = Timeline(of: RandomLife.purchase, [])
    private(set) var told: ReportedState
    private(set) var changes: [Change] = []
    private(set) var now: Instant

    init(from now: Instant = Self.start) {
        self.now = now
        told = ReportedState(nil, until: now)
    }

    mutating func hear(_ facts: [Fact], at moment: Instant) {
        now = max(now, moment)
        let later = timeline.adding(facts)
        changes += told.changes(from: timeline, to: later, at: moment)
        timeline = later
    }

    mutating func pass(until moment: Instant) {
        now = max(now, moment)
        changes += told.transitions(of: timeline, upTo: moment)
    }

    /// Checks what must hold for any log, in whatever order facts arrived.
    func check(_ comment: Comment) {
        var last: PurchaseStatus?
        for change in changes {
            #expect(change.before == last, comment)
            last = change.after
        }
        #expect(last == timeline.status(at: now), comment)
        #expect(told.status == last, comment)
        var sums: [String: Int64] = [:]
        for money in changes.compactMap(\.money) {
            sums[money.currency, default: 0] += money.milliunits
        }
        #expect(
            sums.filter { $0.value != 0 } == timeline.netAmounts.filter { $0.value != 0 }, comment)
    }
}

@Suite struct ToldTests {
    @Test(arguments: RandomLife.seeds)
    func `in any order of arrival, the log ends with the present state, and the money adds up`(
        seed: UInt64
    ) {
        var dice = Dice(seed: seed)
        let facts = RandomLife.facts(&dice)
        for _ in 0..<20 {
            var chronicle = Chronicle()
            var heard = facts + facts.filter { _ in Bool.random(using: &dice) }
            heard.shuffle(using: &dice)
            while !heard.isEmpty {
                let count = Int.random(in: 1...min(3, heard.count), using: &dice)
                let pause = Duration.hours(Int.random(in: -2...400, using: &dice))
                if Bool.random(using: &dice) { chronicle.pass(until: chronicle.now + pause) }
                chronicle.hear(Array(heard.prefix(count)), at: chronicle.now + pause)
                heard.removeFirst(count)
                chronicle.check("seed \(seed)")
            }
            chronicle.pass(until: chronicle.now + .days(200))
            chronicle.check("seed \(seed), at last")
        }
    }

    @Test(arguments: RandomLife.seeds)
    func `a repeated fact causes no change, and each period begins once`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = RandomLife.facts(&dice).shuffled(using: &dice)
        var chronicle = Chronicle()
        for fact in facts { chronicle.hear([fact], at: chronicle.now + .hours(30)) }
        let count = chronicle.changes.count
        for fact in facts.shuffled(using: &dice) { chronicle.hear([fact], at: chronicle.now) }
        #expect(chronicle.changes.count == count, "seed \(seed)")
        let beginnings = chronicle.changes.filter { Self.beginnings.contains($0.kind) }
        #expect(beginnings.count == chronicle.timeline.periods.count, "seed \(seed)")
    }

    /// The changes with which a period begins. Sharing that starts again has the same kind of
    /// change as a period that begins by sharing, but the random lives have no family.
    private static let beginnings: Set<Change.Kind> = [
        .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered, .resubscribed,
        .upgraded, .productChanged,
    ]

    @Test(arguments: RandomLife.seeds)
    func `the same changes are reported whether time passes in one step or in many`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = RandomLife.facts(&dice)
        var once = Chronicle()
        once.hear(facts, at: start)
        var often = once
        once.pass(until: start + .days(500))
        for step in 0...1_000 { often.pass(until: start + .hours(12 * step)) }
        #expect(once.changes == often.changes, "seed \(seed)")
        var wakened = Chronicle()
        wakened.hear(facts, at: start)
        while let next = wakened.timeline.nextTransition(after: wakened.told) {
            guard next <= start + .days(500) else { break }
            let count = wakened.changes.count
            wakened.pass(until: next)
            #expect(wakened.changes.count == count + 1, "seed \(seed): a turn of nothing")
        }
        #expect(wakened.changes == once.changes, "seed \(seed), by the next turn")
    }
}
