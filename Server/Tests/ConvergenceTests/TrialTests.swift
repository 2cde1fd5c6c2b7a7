import Testing

@testable import Convergence

@Suite(.serialized) struct TrialTests {
    @Test func `a quiet life of one customer is told true`() async throws {
        var plan = Plan(seed: 1)
        plan.families = []
        plan.accounts = 1
        let report = try await Trial.play(plan, in: House())
        print(report)
        #expect(report.breach == nil)
    }
}
