import Engine
import Foundation
import Ledger
import Testing

@testable import Simulator

/// Every turn that a purchase can take: the server's answers are held against the simulator's books
/// at every end, on both sides of it.
@Suite(.serialized) struct LifecycleStories {
    @Test(arguments: Course.all)
    func `each turn of the table ends in the truth where the app posts its purchases`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop)
            try await run.play(course)
        }
    }

    @Test(arguments: Course.all)
    func `each turn of the table ends in the truth by notifications alone`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, token: CourseRun.token)
            try await run.play(course)
            // The same, all at the end and in any order.
            for seed: UInt64 in 1...2 {
                var dice = SplitMix64(seed: seed)
                let bodies = await shop.bodies()
                let shuffled = (bodies + bodies).shuffled(using: &dice)
                try await shop.withLateServer("late-\(seed)") { late in
                    for body in shuffled {
                        _ = try await late.engine.recording.record(notification: body)
                    }
                    var late = CourseRun(late, token: CourseRun.token)
                    try await late.check("late, seed \(seed)")
                }
            }
        }
    }

    @Test func `all turns of the table are played`() {
        #expect(Set(Course.all.flatMap(\.rows)) == Set(LifecycleRow.allCases))
        #expect(Set(Course.ofHabits.map(\.name)) == Set(Quirk.allCases.map(\.rawValue)))
    }

    @Test(arguments: Course.ofHabits + Course.meetings)
    func `the store's habits, and turns that meet, end in the truth`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop)
            try await run.play(course)
        }
    }

    @Test(arguments: Course.endedUntold)
    func `what ends without a word is shut after a day`(course: Course) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, allowsHold: true)
            try await run.play(course)
        }
    }
}
