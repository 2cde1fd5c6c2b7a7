import Testing

@testable import Convergence

/// Runs many trials, and checks that they find bugs.
@Suite(.serialized) struct ProofTests {
    private static let house = Result { try TrialFixture() }
    private static let workers = 2

    /// `perennial prove --seeds 1..500` also plays enough trials to cover everything that a proof
    /// must cover.
    @Test(.timeLimit(.minutes(20)))
    func `trials of one hundred and twenty seeds find no violation`() async throws {
        let proof = Proof(try Self.house.get(), seeds: 1...120, workers: Self.workers)
        let outcome = try await proof.run()
        for report in outcome.violations {
            Issue.record(
                """
                \(report.violation?.description ?? "")
                again, and shorter: perennial prove \(report.plan.options)
                """)
        }
        #expect(outcome.figures.trials == 120 || !outcome.violations.isEmpty)
        // In a steady state, the server asks about a subscription little more than once per period.
        let calm = outcome.figures
        #expect(calm.calmPeriods > 5)
        #expect(Double(calm.calmQuestions) <= 1.2 * Double(calm.calmPeriods))
    }

    @Test(.timeLimit(.minutes(10)), arguments: [ClientEra.legacy, .mixed])
    func `trials of thirty seeds with older clients find no violation`(speech: ClientEra)
        async throws
    {
        let proof = Proof(
            try Self.house.get(), seeds: 501...530, workers: Self.workers,
            narrowing: Proof.PlanOverrides(speech: speech))
        let outcome = try await proof.run()
        for report in outcome.violations {
            Issue.record(
                """
                \(report.violation?.description ?? "")
                again, and shorter: perennial prove \(report.plan.options)
                """)
        }
        #expect(outcome.figures.trials == 30 || !outcome.violations.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: SabotageKind.allCases)
    func `trials find a planted bug within two hundred seeds`(
        kind: SabotageKind
    ) async throws {
        let house = try Self.house.get()
        let proof = Proof(house, seeds: 1...200, workers: Self.workers, sabotage: kind)
        let outcome = try await proof.run(stopsAtFirst: true)
        let found = try #require(outcome.violations.first, "\(kind) was not found")
        print("\(kind.rawValue): seed \(found.plan.seed), \(found.violation?.oracle ?? "")")
        let innocent = try await Trial.play(found.plan, in: house)
        #expect(
            innocent.violation == nil, "without the bug: \(innocent.violation?.description ?? "")")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a failing trial is shortened to a smaller trial that still fails`() async throws {
        let house = try Self.house.get()
        let proof = Proof(
            house, seeds: 1...200, workers: 1, sabotage: .forgottenReversals)
        let outcome = try await proof.run(stopsAtFirst: true)
        let found = try #require(outcome.violations.first)
        let shrunk = try await proof.shrunk(found)
        #expect(shrunk.violation?.oracle == found.violation?.oracle)
        let families = (found.plan.families, shrunk.plan.families)
        #expect(families.1.isStrictSubset(of: families.0), "\(families)")
        #expect(shrunk.plan.customers <= found.plan.customers)
        #expect(shrunk.plan.days <= found.plan.days)
        let again = try await Trial.play(shrunk.plan, in: house, with: .forgottenReversals)
        #expect(again.digest == shrunk.digest)
    }
}

extension Plan {
    fileprivate var customers: Int { accounts + (scriptedRow == nil ? 0 : 1) }
}
