import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The page of the rehearsal of the move from RevenueCat.
struct RehearsalPages: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.page(DashboardPath.rehearsal.path, of: router, show)
    }

    @Sendable private func show(_ page: PageRequest) async throws -> String {
        let recorded = try await engine.rehearsals.recorded(of: app, in: page.environment)
        guard let last = recorded.first?.statement else {
            return RehearsalPage.empty(isChanged: !recorded.isEmpty, in: page.frame)
        }
        let cause = page.query["cause"]
        let differences = try await engine.rehearsals.differences(
            of: app, in: page.environment, cause: cause)
        return RehearsalPage(
            last: .init(last),
            causes: last.causes.map {
                // The command marks code by backticks; a page shows them as they are.
                .init(
                    name: $0.name, count: $0.count, sentence: $0.sentence,
                    remedy: $0.remedy.replacing("`", with: ""))
            },
            differences: differences.map(RehearsalPage.Difference.init), cause: cause,
            earlier: recorded.dropFirst().compactMap { $0.statement.map { .init($0) } }
        ).html(in: page.frame)
    }

    /// The row of Health about the last rehearsal; nil if there is none. The row never asks for
    /// attention, because an old rehearsal means nothing after the move.
    static func check(of recorded: [RecordedRehearsal]) -> ChecksPage.Check? {
        guard let last = recorded.first?.statement else { return nil }
        let customers = last.customers.counted("customer")
        return .init(
            "Rehearsal", .well,
            "\(last.unexplained) unexplained of \(customers), at \(last.to)"
                + (last.isComplete ? "." : ", incomplete."),
            link: .init("See each difference", .rehearsal))
    }
}

extension RehearsalPage.Summary {
    init(_ statement: RehearsalStatement) {
        self.init(
            from: Timestamp(statement.from), to: Timestamp(statement.to),
            project: statement.project, customers: statement.customers,
            entitlements: statement.entitlements, differences: statement.differences,
            unexplained: statement.unexplained, isComplete: statement.isComplete,
            loses: statement.loses, gains: statement.gains)
    }
}

extension RehearsalPage.Difference {
    init(_ stored: StoredDifference) {
        self.init(
            cause: stored.cause, customer: stored.customer.rawValue,
            entitlement: stored.entitlement.rawValue, aspect: stored.aspect,
            effect: stored.effect, ours: stored.ours, theirs: stored.theirs,
            evidenceHere: stored.evidenceHere, evidenceThere: stored.evidenceThere)
    }
}
