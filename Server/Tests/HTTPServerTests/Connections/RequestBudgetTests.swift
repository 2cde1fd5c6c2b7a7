import Dice
import Foundation
import Testing

@testable import HTTPServer

/// The pure type that counts the requests of each caller. The tests pass the time.
@Suite struct RequestBudgetTests {
    private static let start = ContinuousClock.now

    private static func taken(
        _ count: Int, from budgets: inout RequestBudgets<String>, by caller: String = "anna",
        at moment: Duration = .zero
    ) -> Int {
        (0..<count).count { _ in budgets.consume(for: caller, at: start + moment) == nil }
    }

    @Test func `a caller may use up a minute's budget at once, and it refills evenly`() {
        var budgets = RequestBudgets<String>(perMinute: 6, callersMax: 10)
        #expect(Self.taken(9, from: &budgets) == 6)
        #expect(Self.taken(9, from: &budgets, at: .seconds(9)) == 0)
        #expect(Self.taken(9, from: &budgets, at: .seconds(10)) == 1)
        #expect(Self.taken(9, from: &budgets, at: .seconds(40)) == 3)
        #expect(Self.taken(9, from: &budgets, at: .seconds(3_600)) == 6)
    }

    @Test(arguments: [(0, 10), (3, 7), (9, 1)])
    func `after the stated wait, the next request is accepted`(at second: Int, wait: Int) {
        var budgets = RequestBudgets<String>(perMinute: 6, callersMax: 10)
        #expect(Self.taken(6, from: &budgets) == 6)
        let moment = Self.start + .seconds(second)
        #expect(budgets.consume(for: "anna", at: moment) == .seconds(wait))
        #expect(
            budgets.consume(for: "anna", at: moment + .seconds(wait) - .nanoseconds(1)) != nil)
        #expect(budgets.consume(for: "anna", at: moment + .seconds(wait)) == nil)
    }

    @Test func `each caller has a budget of its own`() {
        var budgets = RequestBudgets<String>(perMinute: 2, callersMax: 10)
        #expect(Self.taken(5, from: &budgets, by: "anna") == 2)
        #expect(Self.taken(5, from: &budgets, by: "ben") == 2)
    }

    @Test func `the number of stored callers never exceeds callersMax`() {
        var budgets = RequestBudgets<Int>(perMinute: 6, callersMax: 100)
        for caller in 0..<10_000 {
            #expect(budgets.consume(for: caller, at: Self.start + .milliseconds(caller)) == nil)
            #expect(budgets.callerCount <= 100)
        }
    }

    @Test func `many new callers do not displace the caller who sends the most requests`() {
        var budgets = RequestBudgets<Int>(perMinute: 6, callersMax: 100)
        for _ in 0..<6 { #expect(budgets.consume(for: -1, at: Self.start) == nil) }
        for caller in 0..<1_000 { _ = budgets.consume(for: caller, at: Self.start) }
        #expect(budgets.consume(for: -1, at: Self.start) != nil)
    }

    @Test func `if there are too many callers, those who are silent for a minute are forgotten`() {
        var budgets = RequestBudgets<Int>(perMinute: 6, callersMax: 100)
        for caller in 0..<100 {
            for _ in 0..<6 { _ = budgets.consume(for: caller, at: Self.start) }
        }
        let later = Self.start + .seconds(60)
        #expect(budgets.consume(for: 100, at: later) == nil)
        #expect(budgets.callerCount == 1)
    }

    @Test func `in any span of time, a caller gets at most one budget plus the refill`() {
        var dice = Dice(announcedBy: "RequestBudgetTests")
        for _ in 0..<5 {
            let perMinute = Int.random(in: 1...200, using: &dice)
            var budgets = RequestBudgets<String>(perMinute: perMinute, callersMax: 10)
            var moment = Duration.zero
            var accepted: [Duration] = []
            for _ in 0..<500 {
                moment += .milliseconds(Int.random(in: 0...700, using: &dice))
                if budgets.consume(for: "anna", at: Self.start + moment) == nil {
                    accepted.append(moment)
                } else {
                    #expect(accepted.count >= perMinute)
                }
            }
            for (index, first) in accepted.enumerated() {
                for (number, last) in accepted[index...].enumerated() {
                    let refilled = Int((last - first) * perMinute / Duration.seconds(60))
                    #expect(number + 1 <= perMinute + refilled + 1)
                }
            }
        }
    }

    /// docs/operations.md has the calculation.
    @Test func `the default limits are sufficient for a million customers behind one address`()
        throws
    {
        let customers = 1_000_000
        // Each opens the app four times a day; a launch takes four requests.
        let mean = customers * 4 * 4 / (24 * 60)
        let busiest = 10 * mean
        // At any time, one customer in fifty has the app open, and the app asks the server to wait
        // for changes.
        let wait = try Self.followSeconds()
        let following = customers / 50 * 60 / wait
        let usual = RequestLimits()
        #expect(wait == 25 && busiest == 111_110 && following == 48_000)
        #expect(usual.ofAddress > busiest + following)
        #expect(usual.ofAppKey == 10 * usual.ofAddress)
        #expect(WaitLimits().waitsOfKeyMax * 60 / wait == 1_200)
        #expect(usual.withoutKeyOfAddress < usual.ofAddress)
        #expect(usual.ofSecretKey == 0)
        var budgets = RequestBudgets<String>(perMinute: usual.ofAddress, callersMax: 1)
        // A push message: a tenth of all customers opens the app within the same second.
        #expect(Self.taken(usual.ofAddress / 4, from: &budgets) == usual.ofAddress / 4)
    }

    /// How many seconds the SDK asks the server to wait for a change.
    private static func followSeconds() throws -> Int {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../Sources/Perennial/Engine/Engine+LongPoll.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        return try #require(
            text.firstMatch(of: /static let followSeconds = (\d+)/).flatMap { Int($0.1) })
    }
}
