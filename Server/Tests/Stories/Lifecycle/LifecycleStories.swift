import Engine
import Foundation
import Ledger
import Testing

@testable import Simulator

/// Every event in the life of a purchase. Compares the server's answers with the simulator's books
/// just before and just after every end.
@Suite(.serialized) struct LifecycleStories {
    @Test(arguments: Course.all)
    func `in each row of docs/lifecycle.md, posted purchases lead to the simulator's answers`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop)
            try await run.play(course)
        }
    }

    @Test(arguments: Course.all)
    func `in each row of docs/lifecycle.md, notifications alone lead to the simulator's answers`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, token: CourseRun.token)
            try await run.play(course)
            // All notifications arrive only at the end, in any order.
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

    @Test func `the stories play all rows of docs/lifecycle.md, and all quirks of the App Store`() {
        #expect(Set(Course.all.flatMap(\.rows)) == Set(LifecycleRow.allCases))
        #expect(Set(Course.ofHabits.map(\.name)) == Set(Quirk.allCases.map(\.rawValue)))
    }

    @Test(arguments: Course.ofHabits + Course.meetings)
    func `with undocumented App Store behaviour and simultaneous events, the answers are correct`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop)
            try await run.play(course)
        }
    }

    @Test(arguments: Course.endedUntold)
    func `if the end of a subscription is never notified, access closes after a day`(
        course: Course
    ) async throws {
        try await DirectShop.open(course.set) { shop in
            var run = CourseRun(shop, allowsHold: true)
            try await run.play(course)
        }
    }
}
