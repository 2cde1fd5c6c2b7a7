import Testing

@testable import Reports

/// Differences planted in the numbers of one day and country, and the causes that must be found.
struct PlantedStanding: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var plant: @Sendable (inout StandingFigure, inout StandingFigure) -> Void
    var causes: Set<SalesDifference.Cause>
    var isResidual: Bool

    init(
        _ name: String, _ causes: Set<SalesDifference.Cause>, isResidual: Bool = true,
        plant: @escaping @Sendable (inout StandingFigure, inout StandingFigure) -> Void
    ) {
        (testDescription, self.causes, self.isResidual) = (name, causes, isResidual)
        self.plant = plant
    }

    static let all = [
        PlantedStanding("no difference", [], isResidual: false) { _, _ in },
        PlantedStanding("an active subscription that we do not know", [.notHeardOf]) { _, apples in
            apples.active += 1
        },
        PlantedStanding("an active subscription that the file lacks", [.notInFile]) { ours, _ in
            ours.active += 1
        },
        PlantedStanding("a trial that we do not know", [.notHeardOf]) { _, apples in
            apples.trials += 1
        },
        PlantedStanding("a retried payment that we do not know", [.notHeardOf]) { _, apples in
            apples.retry += 1
        },
        PlantedStanding("a grace period after a trial", [.graceAfterTrial], isResidual: false) {
            ours, apples in
            ours.trials += 1
            apples.active += 1
            apples.grace += 1
        },
        PlantedStanding(
            "a refund that we learned of after its reversal", [.refundReversed], isResidual: false
        ) {
            ours, apples in
            ours.restored = 1
            apples.active += 1
        },
        PlantedStanding(
            "a refund of a free period that we learned of after its reversal", [.refundReversed],
            isResidual: false
        ) { ours, apples in
            ours.restoredTrials = 1
            apples.trials += 1
        },
        PlantedStanding(
            "a free period that began in grace", [.chargeOnAnotherDay], isResidual: false
        ) { ours, apples in
            (ours.collected, ours.collectedTrials) = (1, 1)
            ours.trials += 1
            apples.active += 1
            apples.grace += 1
        },
        PlantedStanding("a retry that ended at midnight", [.dayBoundary], isResidual: false) {
            ours, apples in
            ours.overSoon = 1
            apples.retry -= 1
        },
        PlantedStanding(
            "a retry that ended at midnight, and another one that the file lacks",
            [.dayBoundary, .notInFile]
        ) {
            ours, apples in
            ours.overSoon = 1
            apples.retry -= 2
        },
        PlantedStanding(
            "a reversed refund, and an active subscription that we do not know",
            [.refundReversed, .notHeardOf]
        ) {
            ours, apples in
            ours.restored = 1
            apples.active += 2
        },
    ]
}

@Suite struct StandingReconciliationTests {
    private static let key = StandingFigure.Key(day: 12, country: "DE")

    private static var figure: StandingFigure {
        var figure = StandingFigure(key)
        (figure.active, figure.trials, figure.grace, figure.retry) = (40, 7, 3, 2)
        return figure
    }

    @Test(arguments: PlantedStanding.all)
    func `each planted difference in the numbers of subscriptions is found, with its cause`(
        planted: PlantedStanding
    ) {
        var (ours, apples) = (Self.figure, Self.figure)
        planted.plant(&ours, &apples)
        let found = StandingReconciliation(ours: [ours], apples: [apples], days: [12])
        #expect(found.comparedCount == 4)
        #expect(Set(found.differences.map(\.cause)) == planted.causes)
        #expect(found.residual.isEmpty == !planted.isResidual)
    }

    @Test func `absurd numbers do not interrupt the comparison of subscriptions`() {
        for number in [Int64.max, -Int64.max] {
            var (ours, apples) = (Self.figure, Self.figure)
            for path in [\StandingFigure.active, \.trials, \.grace, \.retry] {
                apples[keyPath: path] = number
                ours[keyPath: path] = -5
            }
            var doubled = apples
            doubled.add(apples)
            #expect(doubled.active == number)
            let found = StandingReconciliation(ours: [ours], apples: [doubled], days: [12])
            #expect(found.residual[.active] == (number > 0 ? .max : 5 - .max))
        }
    }

    @Test func `a day without a file is not compared`() {
        let found = StandingReconciliation(ours: [Self.figure], apples: [], days: [11])
        #expect(found.differences.isEmpty)
        #expect(found.comparedCount == 0)
    }
}
