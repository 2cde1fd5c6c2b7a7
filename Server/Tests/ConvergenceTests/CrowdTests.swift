import AppStoreFormats
import Simulator
import Testing

@testable import Convergence

/// A thousand customers, and one thing wrong for long.
@Suite(.serialized) struct CrowdTests {
    private static let house = Result { try House() }
    private static let accounts = 1_000

    @Test(.timeLimit(.minutes(15)))
    func `with no notification for ninety days everybody is told true within the interval`()
        async throws
    {
        let crowd = Crowd(seed: 1, accounts: Self.accounts, days: 90) {
            $0.notifications.odds[.drop] = 1
        }
        let findings = try await crowd.play(in: Self.house.get())
        #expect(findings.breach == nil)
        #expect(findings.compared > 3 * Self.accounts)
        print("no notifications: \(findings)")
    }

    @Test(.timeLimit(.minutes(15)))
    func `with nobody to ask for eight days everybody is told true`() async throws {
        let outage = Outage(from: Self.day(30), until: Self.day(38))
        var crowd = Crowd(seed: 2, accounts: Self.accounts, days: 45) { $0.apiOutage = outage }
        crowd.lookEvery = 5
        let findings = try await crowd.play(in: Self.house.get())
        #expect(findings.breach == nil)
        #expect(findings.compared > 2 * Self.accounts)
        print("no API: \(findings)")
    }

    @Test(.timeLimit(.minutes(15)))
    func
        `with neither no payer is shut out before the hold, and all is true within the hour after`()
        async throws
    {
        let outage = Outage(from: Self.day(29), until: Self.day(30))
        var crowd = Crowd(seed: 3, accounts: Self.accounts, days: 30) {
            $0.apiOutage = outage
            $0.notificationOutage = outage
        }
        crowd.lookEvery = 1
        let findings = try await crowd.play(in: Self.house.get())
        #expect(findings.breach == nil)
        #expect(findings.held > 0)
        print("neither: \(findings)")
    }

    private static func day(_ number: Int64) -> AppStoreDate {
        AppStoreDate(milliseconds: Plan.start.milliseconds + number * 86_400_000)
    }
}
