import Ledger

/// Compares what we know with the App Store's files, and says why each difference exists. It first
/// compares whole days, then looks for the same amount on another day, and then explains what is
/// left by itself.
package struct SalesReconciliation: Sendable {
    /// How many days apart a refund may be on the two sides.
    private static let refundDaysMax: Int64 = 90

    /// Sorted by day, product and country.
    package private(set) var differences: [SalesDifference] = []
    /// Numbers that were compared.
    package private(set) var comparedCount = 0

    private let products: Set<ProductID>
    private let days: Set<Int64>
    private let doubledDays: Set<Int64>

    /// - Parameters:
    ///   - ours: one figure for each key.
    ///   - apples: one figure for each key.
    ///   - days: the days for which there is a file.
    package init(
        ours: [SalesFigure], apples: [SalesFigure], days: Set<Int64>
    ) {
        let mine = Dictionary(ours.map { ($0.key, $0) }) { first, _ in first }
        let theirs = Dictionary(apples.map { ($0.key, $0) }) { first, _ in first }
        products = Set(ours.map(\.key.product))
        self.days = days
        doubledDays = Self.doubledDays(mine, theirs)
        for key in Set(mine.keys).union(theirs.keys).sorted() {
            compare(mine[key] ?? SalesFigure(key), theirs[key] ?? SalesFigure(key))
        }
        explainByOtherDays()
    }

    /// The sums of what is not explained by another day, a missing file, or the way of counting, by
    /// quantity and currency.
    package var residual: [SalesDifference.Quantity: [String: Int64]] {
        var sums: [SalesDifference.Quantity: [String: Int64]] = [:]
        for one in differences where one.cause.isResidual {
            sums[one.quantity, default: [:]][one.key.currency ?? "", default: 0] += one.difference
        }
        return sums
    }

    // MARK: - Whole days

    /// Days on which everything is twice ours.
    private static func doubledDays(
        _ mine: [SalesFigure.Key: SalesFigure], _ theirs: [SalesFigure.Key: SalesFigure]
    ) -> Set<Int64> {
        let byDay = Dictionary(grouping: theirs.values, by: \.key.day)
        return Set(
            byDay.filter { _, figures in
                figures.contains { $0.units > 0 }
                    && figures.allSatisfy { figure in
                        guard let own = mine[figure.key] else { return false }
                        return figure.units == own.units * 2 && figure.gross == own.gross * 2
                    }
            }.keys)
    }

    // MARK: - One key

    private mutating func compare(_ mine: SalesFigure, _ theirs: SalesFigure) {
        let unitsCause = cause(ofUnits: mine, theirs)
        let areUnitsSame = mine.units == theirs.units
        add(.units, mine, mine.units, theirs.units, unitsCause)
        add(.gross, mine, mine.gross, theirs.gross, areUnitsSame ? .price : unitsCause)
        for (quantity, own, other) in [
            (SalesDifference.Quantity.refundedUnits, mine.refundedUnits, theirs.refundedUnits),
            (.refunded, mine.refunded, theirs.refunded),
        ] {
            add(quantity, mine, own, other, other > own ? .notHeardOf : .notInFile)
        }
        guard let own = mine.proceeds, let other = theirs.proceeds else { return }
        let proceedsCause = cause(ofProceeds: mine, theirs)
        add(.proceeds, mine, own, other, proceedsCause)
    }

    private mutating func add(
        _ quantity: SalesDifference.Quantity, _ figure: SalesFigure, _ ours: Int64,
        _ apples: Int64, _ cause: SalesDifference.Cause
    ) {
        comparedCount += 1
        guard ours != apples else { return }
        let whole = wholeDayCause(figure.key)
        differences.append(
            SalesDifference(
                key: figure.key, quantity: quantity, ours: ours, apples: apples,
                cause: whole ?? cause))
    }

    private func wholeDayCause(_ key: SalesFigure.Key) -> SalesDifference.Cause? {
        if !days.contains(key.day) { return .fileMissing }
        if doubledDays.contains(key.day) { return .countedTwice }
        return products.contains(key.product) ? nil : .unknownProduct
    }

    private func cause(
        ofUnits mine: SalesFigure, _ theirs: SalesFigure
    ) -> SalesDifference.Cause {
        let difference = theirs.units - mine.units
        if theirs.gross == mine.gross {
            if difference > 0, difference == mine.sharedUnits { return .familySharing }
            if theirs.freeUnits != mine.freeUnits { return .freeUnits }
        }
        return difference > 0 ? .notHeardOf : .notInFile
    }

    /// Proceeds follow from units, prices and refunds. If those are the same, the App Store keeps
    /// another share, or takes another tax: a share is a round part of what the price would leave.
    private func cause(
        ofProceeds mine: SalesFigure, _ theirs: SalesFigure
    ) -> SalesDifference.Cause {
        if mine.units != theirs.units { return cause(ofUnits: mine, theirs) }
        if mine.gross != theirs.gross { return .price }
        if mine.refunded != theirs.refunded {
            return theirs.refunded > mine.refunded ? .notHeardOf : .notInFile
        }
        guard let own = mine.proceeds, let other = theirs.proceeds else { return .tax }
        return Self.isOtherShare(own, other) ? .commission : .tax
    }

    /// Whether two proceeds of the same price differ as 70 % and 85 % do, but for rounding.
    private static func isOtherShare(_ one: Int64, _ other: Int64) -> Bool {
        let (low, high) = (min(abs(one), abs(other)), max(abs(one), abs(other)))
        let standard = Percentage.whole - MoneyRules.standardRate
        let reduced = Percentage.whole - MoneyRules.reducedRate
        let expected = Double(low) * Double(reduced) / Double(standard)
        return abs(Double(high) - expected) <= max(expected / 1000, 2)
    }

    // MARK: - Other days

    /// Finds pairs of differences that cancel each other out on different days.
    private mutating func explainByOtherDays() {
        for quantity in SalesDifference.Quantity.allCases {
            let indices = differences.indices.filter {
                differences[$0].quantity == quantity && differences[$0].cause.isMovable
            }
            for (place, index) in indices.enumerated() {
                guard differences[index].cause.isMovable else { continue }
                for other in indices[(place + 1)...]
                where differences[other].cause.isMovable && cancels(index, other) {
                    guard let cause = pairCause(index, other) else { continue }
                    differences[index].cause = cause
                    differences[other].cause = cause
                    break
                }
            }
        }
    }

    private func cancels(_ one: Int, _ other: Int) -> Bool {
        let (first, second) = (differences[one], differences[other])
        return first.key.product == second.key.product && first.key.country == second.key.country
            && first.key.currency == second.key.currency
            && first.difference == -second.difference
    }

    private func pairCause(_ one: Int, _ other: Int) -> SalesDifference.Cause? {
        let apart = abs(differences[one].key.day - differences[other].key.day)
        if apart == 1 { return .dayBoundary }
        switch differences[one].quantity {
        case .refunded, .refundedUnits:
            return apart <= Self.refundDaysMax ? .refundOnAnotherDay : nil
        case .proceeds:
            return apart <= Self.refundDaysMax && differences[one].isOfRefund
                ? .refundOnAnotherDay : nil
        case .units, .gross: return nil
        }
    }
}

extension SalesDifference {
    /// Whether proceeds differ because only one side has a refund.
    fileprivate var isOfRefund: Bool { cause == .notHeardOf || cause == .notInFile }
}

extension SalesDifference.Cause {
    /// Whether it may turn out that the other side has the same on another day.
    fileprivate var isMovable: Bool { self == .notHeardOf || self == .notInFile }

    /// Whether money may be missing.
    fileprivate var isResidual: Bool {
        switch self {
        case .notHeardOf, .notInFile, .price, .commission, .tax, .unknownProduct, .countedTwice:
            true
        case .fileMissing, .dayBoundary, .refundOnAnotherDay, .familySharing, .freeUnits: false
        }
    }
}
