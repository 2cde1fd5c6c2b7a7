import Testing

@testable import Convergence

/// Many customers of one world, through what lasts long.
@Suite(.serialized) struct CrowdTests {
    private static let house = Result { try TrialFixture() }

    @Test(.timeLimit(.minutes(10)), arguments: PopulationTrial.Disruption.allCases)
    func `a hundred customers are told true through a long trouble`(
        trouble: PopulationTrial.Disruption
    ) async throws {
        let report = try await PopulationTrial.play(
            100, trouble, seed: 1, days: 30, in: Self.house.get())
        #expect(report.violation == nil, "\(report.violation?.description ?? "")")
        // The trouble was there, and there was somebody to suffer from it.
        #expect(report.purchases > 50)
        #expect(report.answers > 500)
        switch trouble {
        case .noNotifications: #expect(report.refusedNotifications > 100)
        case .noAnswers: #expect(report.refusedNotifications == 0)
        case .neither: #expect(report.refusedNotifications > 10 && report.held > 0)
        }
    }
}
