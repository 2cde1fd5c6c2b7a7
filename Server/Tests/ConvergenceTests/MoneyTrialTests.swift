import Testing

@testable import Convergence

/// The money of many customers of two apps.
@Suite(.serialized) struct MoneyTrialTests {
    @Test(.timeLimit(.minutes(10)))
    func `the server's sales of two hundred customers equal the ground truth and report files`()
        async throws
    {
        let report = try await MoneyTrial.play(200, months: 14, seed: 1, in: TrialFixture())
        #expect(report.differences == [], "\(report.differencesCount) differences")
        // Enough sales were compared.
        #expect(report.compared > 4000)
        #expect(report.restated > 0 && report.mixed > 0)
        #expect(report.reconciled > 2000)
        #expect(report.explained > 0)
        #expect(report.moments == 20)
        #expect(report.groupCharges > 50)
    }
}
