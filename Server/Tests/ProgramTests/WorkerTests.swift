import Foundation
import HTTPServer
import Ledger
import Logging
import Synchronization
import Testing

@testable import Program

@Suite(.timeLimit(.minutes(5))) struct WorkerTests {
    private struct Broken: Error {}

    /// The steps that a worker has run, in order.
    private final class Diary: Sendable {
        private let entries = Mutex<[String]>([])

        var all: [String] { entries.withLock { $0 } }

        func add(_ entry: String) { entries.withLock { $0.append(entry) } }

        func count(of entry: String) -> Int { all.count { $0 == entry } }

        /// A step that finds work `batches` times, and then fails or finds no more work.
        func step(
            _ name: String, batches: Int, fails: Bool = false, work: Work = .checks
        ) -> Worker.Step {
            Worker.Step(work: work, failure: "failed") {
                guard self.count(of: name) < batches else {
                    if fails { throw Broken() }
                    return 0
                }
                self.add(name)
                return 1
            }
        }
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func worker(
        every pause: Duration = .seconds(1), _ steps: [Worker.Step] = [],
        states: WorkerStates = WorkerStates()
    ) -> Worker {
        Worker(every: pause, logger: logger, states: states) { steps }
    }

    @Test func `a worker repeats each step until no work is left, before the next step begins`()
        async
    {
        let diary = Diary()
        let steps = [diary.step("a", batches: 2), diary.step("b", batches: 1)]
        #expect(await Self.worker(steps).processDue())
        #expect(diary.all == ["a", "a", "b"])
    }

    @Test func `a failing step does not stop other steps, and a run fails only if all steps fail`()
        async
    {
        let rows: [(batches: [Int], fails: [Bool], isFailing: Bool)] = [
            ([0, 1], [true, false], false), ([0, 0], [false, true], false),
            ([0, 0], [true, true], true), ([1, 0], [true, true], false), ([0], [true], true),
        ]
        for row in rows {
            let diary = Diary()
            let steps = zip(row.batches, row.fails).enumerated().map {
                diary.step("\($0)", batches: $1.0, fails: $1.1)
            }
            #expect(await Self.worker(steps).processDue() == !row.isFailing, "\(row)")
            #expect(diary.all.count == row.batches.reduce(0, +), "\(row)")
        }
    }

    @Test func `each successful batch and each failure is recorded under the name of its work`()
        async
    {
        let (diary, states) = (Diary(), WorkerStates())
        let before = Instant.machine
        let steps = [
            diary.step("idle", batches: 0, work: .webhooks),
            diary.step("broken", batches: 0, fails: true, work: .appleReports),
            diary.step("half", batches: 1, fails: true, work: .checks),
        ]
        let worker = Self.worker(steps, states: states)
        await worker.processDue()
        await worker.processDue()
        #expect(states.all.map(\.work) == ["apple_reports", "checks", "webhooks"])
        #expect(states.all.map(\.state.failures) == [2, 2, 0])
        let times = states.all.map(\.state.succeededAt)
        #expect(times[0] == nil)
        #expect(times[1...].allSatisfy { $0.map { $0 >= before } ?? false })
    }

    @Test func `docs/monitoring.md names every kind of work`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/monitoring.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let sentence = try #require(text.firstMatch(of: /`work` is one of ([^.]*)\./))
        let names = sentence.1.matches(of: /`(\w+)`/).map { String($0.1) }
        #expect(names == Work.allCases.map(\.rawValue))
    }

    @Test
    func `a worker's pauses grow while all steps fail, and are at least the normal pause`() {
        let usual = Self.worker()
        #expect(
            (0...6).map { usual.pause(after: $0) } == [1, 1, 2, 4, 8, 15, 15].map { .seconds($0) })
        let daily = Self.worker(every: .seconds(86_400))
        #expect((0...2).allSatisfy { daily.pause(after: $0) == .seconds(86_400) })
    }

    @Test func `a worker runs again after each pause, until it is cancelled`() async {
        let (runs, sink) = AsyncStream.makeStream(of: Void.self)
        let step = Worker.Step(work: .checks, failure: "failed") {
            sink.yield()
            throw Broken()
        }
        await withTaskGroup(of: Void.self) { tasks in
            let worker = Self.worker(every: .milliseconds(1), [step])
            tasks.addTask { await worker.run() }
            var count = 0
            for await _ in runs {
                count += 1
                if count == 3 { break }
            }
            tasks.cancelAll()
        }
    }

    @Test func `if a worker begins with a pause, it runs no step before the pause ends`() async {
        let diary = Diary()
        let step = diary.step("a", batches: 1)
        let worker = Worker(every: .seconds(3600), pausesFirst: true, logger: Self.logger) {
            [step]
        }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await worker.run() }
            await Task.yield()
            tasks.cancelAll()
        }
        #expect(diary.all.isEmpty)
    }

    @Test func `concurrent runs of a worker run one after another`() async {
        let diary = Diary()
        let step = Worker.Step(work: .checks, failure: "failed") {
            diary.add("begin")
            await Task.yield()
            diary.add("end")
            return 0
        }
        let worker = Self.worker([step])
        await [worker, worker, worker].forEachConcurrently { await $0.processDue() }
        #expect(diary.all == ["begin", "end", "begin", "end", "begin", "end"])
    }
}
