import Ledger
import Testing

@testable import Reports

/// Differences that are planted on one side, and the causes that must be found.
struct PlantedDifference: Sendable, CustomTestStringConvertible {
    var name: String
    var plant: @Sendable (inout [SalesFigure], inout [SalesFigure], inout Set<Int64>) -> Void
    var causes: Set<SalesDifference.Cause>
    /// Whether the difference may be reported as missing money.
    var isResidual: Bool

    var testDescription: String { name }

    init(
        _ name: String, _ causes: SalesDifference.Cause..., isResidual: Bool = true,
        plant:
            @escaping @Sendable (inout [SalesFigure], inout [SalesFigure], inout Set<Int64>) ->
            Void
    ) {
        (self.name, self.plant, self.causes, self.isResidual) = (
            name, plant, Set(causes), isResidual
        )
    }

    static let all = [
        PlantedDifference("a sale counted on the next day", .dayBoundary, isResidual: false) {
            ours, _, _ in
            ours.append(.sale(on: 11, "pro", units: 1))
            ours[1] = .sale(on: 12, "pro", units: 4)
        },
        PlantedDifference(
            "a refund that we learned of a week later", .refundOnAnotherDay, isResidual: false
        ) { ours, apples, _ in
            ours.append(.refund(on: 20, "pro"))
            apples.append(.refund(on: 13, "pro"))
        },
        PlantedDifference("a refund that was reversed", .refundReversed, isResidual: false) {
            _, apples, _ in
            var refund = SalesFigure.refund(on: 13, "pro")
            refund.proceeds = 0
            var sale = SalesFigure.sale(on: 20, "pro", units: 1)
            sale.proceeds = 0
            apples += [refund, sale]
        },
        PlantedDifference("family members in the file", .familySharing, isResidual: false) {
            ours, apples, _ in
            ours[0].sharedUnits = 2
            apples[0].units += 2
        },
        PlantedDifference("free trials that only we list", .freeUnits, isResidual: false) {
            ours, _, _ in
            ours[0].units += 3
            ours[0].freeUnits = 3
        },
        PlantedDifference("a sale that we do not know", .notHeardOf) { _, apples, _ in
            apples[0].add(.sale(on: 10, "pro", units: 1))
        },
        PlantedDifference("a sale that the file lacks", .notInFile) { ours, _, _ in
            ours[0].add(.sale(on: 10, "pro", units: 1))
        },
        PlantedDifference("a day without a file", .fileMissing, isResidual: false) {
            _, apples, days in
            days.remove(12)
            apples.removeAll { $0.key.day == 12 }
        },
        PlantedDifference("a file that has everything twice", .countedTwice) { _, apples, _ in
            apples[1].add(apples[1])
        },
        PlantedDifference("a product of another app", .unknownProduct) { _, apples, _ in
            apples.append(.sale(on: 10, "other", units: 4))
        },
        PlantedDifference("items in place of a product", .itemSKUs, isResidual: false) {
            _, apples, _ in
            let product = apples.removeFirst()
            for (items, units) in [("'a','b'", product.units - 1), ("'c'", 1)] {
                apples.append(.sale(on: product.key.day, ProductID(rawValue: items), units: units))
            }
        },
        PlantedDifference("items of which a part is missing", .unknownProduct, .notInFile) {
            _, apples, _ in
            let product = apples.removeFirst()
            apples.append(.sale(on: product.key.day, "'a'", units: product.units - 1))
        },
        PlantedDifference("another price", .price) { _, apples, _ in
            apples[0].gross += 1000
            apples[0].proceeds = apples[0].gross * 7 / 10
        },
        PlantedDifference("the share of the small business program", .commission) {
            _, apples, _ in apples[0].proceeds = apples[0].gross * 85 / 100
        },
        PlantedDifference("a tax that we do not know", .tax) { _, apples, _ in
            apples[0].proceeds = apples[0].gross * 100 / 119 * 7 / 10
        },
    ]
}

@Suite struct SalesReconciliationTests {
    @Test(arguments: PlantedDifference.all)
    func `each planted difference between our sales and Apple's is found, with its cause`(
        planted: PlantedDifference
    ) {
        var (ours, apples, days) = (Self.sales, Self.sales, Set<Int64>(0...40))
        planted.plant(&ours, &apples, &days)
        let found = SalesReconciliation(ours: ours, apples: apples, days: days)
        #expect(Set(found.differences.map(\.cause)) == planted.causes)
        #expect(found.residual.isEmpty == !planted.isResidual)
    }

    @Test func `in a file about all apps, an unknown product belongs to another app`() {
        var apples = Self.sales
        for index in apples.indices {
            apples[index].add(apples[index])
            var other = apples[index]
            other.key.product = "other"
            apples.append(other)
        }
        let found = SalesReconciliation(
            ours: Self.sales, apples: apples, days: [10, 12], coversOtherApps: true)
        let (others, own) = (
            found.differences.filter { $0.key.product == "other" },
            found.differences.filter { $0.key.product != "other" }
        )
        #expect(Set(others.map(\.cause)) == [.otherApp])
        // The app's own rows are still found to be counted twice.
        #expect(Set(own.map(\.cause)) == [.countedTwice])
    }

    @Test func `equal sales have no difference and no unexplained remainder`() {
        let found = SalesReconciliation(ours: Self.sales, apples: Self.sales, days: [10, 12])
        #expect(found.differences.isEmpty)
        #expect(found.residual.isEmpty)
        #expect(found.comparedCount == 10)
    }

    @Test
    func `a charge that is collected later counts on the later day if the files confirm the day`() {
        var apples = Self.sales
        apples[0] = .sale(on: 10, "pro", units: 2)
        apples.append(.sale(on: 15, "pro", units: 1))
        let shift = SalesShift(
            .chargeOnAnotherDay, removed: .sale(on: 10, "pro", units: 1),
            added: [.sale(on: 15, "pro", units: 1)])
        // There is no file for the day on which the charge was due, because nothing else was sold
        // on that day.
        let found = SalesReconciliation(
            ours: Self.sales, apples: apples, days: [12, 15], shifts: [shift])
        #expect(found.differences.filter { $0.key.day == 15 }.count == 3)
        #expect(
            found.differences.filter { $0.key.day == 15 }
                .allSatisfy { $0.cause == .chargeOnAnotherDay })
        #expect(found.residual.isEmpty)
        let unconfirmed = SalesReconciliation(
            ours: Self.sales, apples: Self.sales, days: [10, 12, 15], shifts: [shift])
        #expect(unconfirmed.differences.isEmpty)
    }

    @Test func `a reversed partial refund explains a refund that only the sales files have`() {
        var part = SalesFigure.refund(on: 13, "pro")
        (part.refunded, part.proceeds) = (4000, -2800)
        let found = SalesReconciliation(
            ours: Self.sales, apples: Self.sales + [part], days: Set(0...40),
            shifts: [SalesShift(.refundReversed, added: [part])])
        #expect(
            found.differences.map(\.cause) == [.refundReversed, .refundReversed, .refundReversed])
        #expect(found.residual.isEmpty)
        let other = SalesReconciliation(
            ours: Self.sales, apples: Self.sales + [part], days: Set(0...40))
        #expect(!other.residual.isEmpty)
    }

    @Test func `absurd numbers do not interrupt the comparison of sales`() {
        var (ours, apples) = (Self.sales, Self.sales)
        for (index, number) in [Int64.max, -Int64.max].enumerated() {
            for path in [\SalesFigure.units, \.gross, \.refundedUnits, \.refunded, \.freeUnits] {
                apples[index][keyPath: path] = number
                ours[index][keyPath: path] = -number
            }
            (apples[index].proceeds, ours[index].proceeds) = (number, -number)
        }
        apples += apples.map { $0.on(20) } + apples.map { $0.on(30) }
        let found = SalesReconciliation(
            ours: ours, apples: apples, days: Set(0...40),
            shifts: [SalesShift(.refundReversed, removed: ours[0], added: [apples[1].on(33)])])
        #expect(!found.differences.isEmpty)
        #expect(found.differences.contains { $0.difference == .max })
    }

    private static let sales: [SalesFigure] = [
        .sale(on: 10, "pro", units: 3), .sale(on: 12, "pro", units: 5),
    ]
}

extension SalesFigure {
    static func sale(on day: Int64, _ product: ProductID, units: Int64) -> SalesFigure {
        var figure = SalesFigure(
            Key(day: day, product: product, country: "DE", currency: "EUR"))
        figure.units = units
        figure.gross = units * 10_000
        figure.proceeds = units * 7000
        return figure
    }

    fileprivate func on(_ day: Int64) -> SalesFigure {
        var figure = self
        figure.key.day = day
        return figure
    }

    static func refund(on day: Int64, _ product: ProductID) -> SalesFigure {
        var figure = SalesFigure(
            Key(day: day, product: product, country: "DE", currency: "EUR"))
        figure.refundedUnits = 1
        figure.refunded = 10_000
        figure.proceeds = -7000
        return figure
    }
}
