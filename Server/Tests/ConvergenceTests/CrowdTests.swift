import Testing

@testable import Convergence

/// Trials of many customers in one world, with faults that last for a long time.
@Suite(.serialized) struct CrowdTests {
    private static let house = Result { try TrialFixture() }

    @Test(.timeLimit(.minutes(10)), arguments: PopulationTrial.Disruption.allCases)
    func `a hundred customers get correct answers from the server during and after a long outage`(
        trouble: PopulationTrial.Disruption
    ) async throws {
        let report = try await PopulationTrial.play(
            100, trouble, seed: 1, days: 30, in: Self.house.get())
        #expect(report.violation == nil, "\(report.violation?.description ?? "")")
        // The faults occurred, and they affected customers.
        #expect(report.purchases > 50)
        #expect(report.answers > 500)
        switch trouble {
        case .noNotifications: #expect(report.refusedNotifications > 100)
        case .noAnswers: #expect(report.refusedNotifications == 0)
        case .neither: #expect(report.refusedNotifications > 10 && report.held > 0)
        }
    }
}
