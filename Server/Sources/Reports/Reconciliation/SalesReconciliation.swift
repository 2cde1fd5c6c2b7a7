import Ledger

/// Compares our sales with the App Store's files, and gives the reason of each difference. The
/// steps: compare whole days; move figures that the App Store counts elsewhere, according to our
/// documents; look for the same amount on another day; explain each remaining difference
/// separately.
package struct SalesReconciliation: Sendable {
    /// Equal figures of the two sides explain each other only if at most this number of days lies
    /// between them.
    private static let daysApartMax: Int64 = 90

    /// The differences that were found, sorted by day, product and country.
    package private(set) var differences: [SalesDifference] = []
    /// The number of comparisons.
    package private(set) var comparedCount = 0

    private let products: Set<ProductID>
    private let days: Set<Int64>
    private let doubledDays: Set<Int64>
    private let coversOtherApps: Bool

    /// - Parameters:
    ///   - ours: one figure for each key.
    ///   - apples: one figure for each key.
    ///   - days: the days for which there is a file.
    ///   - products: products that are known, even if we know no sale of them in these days.
    ///   - shifts: figures that the App Store counts elsewhere, according to our documents.
    ///   - coversOtherApps: whether the files are about all apps of a developer, and their rows do
    ///     not name the app. Then an unknown product belongs to another app.
    package init(
        ours: [SalesFigure], apples: [SalesFigure], days: Set<Int64>,
        products: Set<ProductID> = [], shifts: [SalesShift] = [], coversOtherApps: Bool = false
    ) {
        var mine = Dictionary(ours.map { ($0.key, $0) }) { first, _ in first }
        let theirs = Dictionary(apples.map { ($0.key, $0) }) { first, _ in first }
        let products = products.union(ours.map(\.key.product))
        self.products = products
        self.days = days
        self.coversOtherApps = coversOtherApps
        doubledDays = Self.doubledDays(
            mine, coversOtherApps ? theirs.filter { products.contains($0.key.product) } : theirs)
        for shift in shifts { apply(shift, to: &mine, theirs) }
        for key in Set(mine.keys).union(theirs.keys).sorted() {
            compare(mine[key] ?? SalesFigure(key), theirs[key] ?? SalesFigure(key))
        }
        explainItemLists()
        explainByOtherDays()
        differences.sort { $0.key < $1.key }
    }

    /// The sums of the unexplained differences, by quantity and currency. Leaves out differences
    /// that come from another day, from a missing file, or from another way of counting.
    package var residual: [SalesDifference.Quantity: [String: Int64]] {
        var sums: [SalesDifference.Quantity: [String: Int64]] = [:]
        for one in differences where one.cause.isResidual {
            let currency = one.key.currency ?? ""
            let sum = sums[one.quantity]?[currency] ?? 0
            sums[one.quantity, default: [:]][currency] = sum.addingSaturated(one.difference)
        }
        return sums
    }

    // MARK: - Whole days

    /// Days on which every number of the file is twice ours.
    private static func doubledDays(
        _ mine: [SalesFigure.Key: SalesFigure], _ theirs: [SalesFigure.Key: SalesFigure]
    ) -> Set<Int64> {
        let byDay = Dictionary(grouping: theirs.values, by: \.key.day)
        return Set(
            byDay.filter { _, figures in
                figures.contains { $0.units > 0 }
                    && figures.allSatisfy { figure in
                        guard let own = mine[figure.key] else { return false }
                        return figure.units == own.units.multipliedSaturated(by: 2)
                            && figure.gross == own.gross.multipliedSaturated(by: 2)
                    }
            }.keys)
    }

    // MARK: - What our documents explain

    /// Moves a figure to the days on which the App Store counts it, if the App Store's files
    /// confirm that. A day without a file confirms any figure.
    private mutating func apply(
        _ shift: SalesShift, to mine: inout [SalesFigure.Key: SalesFigure],
        _ theirs: [SalesFigure.Key: SalesFigure]
    ) {
        func figures(_ key: SalesFigure.Key) -> (mine: SalesFigure, theirs: SalesFigure) {
            (mine[key] ?? SalesFigure(key), theirs[key] ?? SalesFigure(key))
        }
        if let removed = shift.removed {
            let (own, other) = figures(removed.key)
            guard other.isExceeded(by: own, byAtLeast: removed) else { return }
        }
        let added = shift.added.filter { days.contains($0.key.day) }
        for figure in added {
            let (own, other) = figures(figure.key)
            guard own.isExceeded(by: other, byAtLeast: figure) else { return }
        }
        if let removed = shift.removed, let before = mine[removed.key] {
            mine[removed.key]?.subtract(removed)
            record(from: before, to: mine[removed.key] ?? before, shift.cause)
        }
        for figure in added {
            let before = mine[figure.key] ?? SalesFigure(figure.key)
            mine[figure.key, default: before].add(figure)
            record(from: before, to: mine[figure.key] ?? before, shift.cause)
        }
    }

    private mutating func record(
        from before: SalesFigure, to after: SalesFigure, _ cause: SalesDifference.Cause
    ) {
        for ((quantity, own), (_, other)) in zip(before.numbers, after.numbers)
        where own != other {
            differences.append(
                SalesDifference(
                    key: before.key, quantity: quantity, ours: own, apples: other, cause: cause))
        }
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
        add(
            .proceeds, mine, own, other, proceedsCause,
            isOfRefund: mine.refunded != theirs.refunded)
    }

    private mutating func add(
        _ quantity: SalesDifference.Quantity, _ figure: SalesFigure, _ ours: Int64,
        _ apples: Int64, _ cause: SalesDifference.Cause, isOfRefund: Bool = false
    ) {
        comparedCount += 1
        guard ours != apples else { return }
        let whole = wholeDayCause(figure.key)
        differences.append(
            SalesDifference(
                key: figure.key, quantity: quantity, ours: ours, apples: apples,
                cause: whole ?? cause, isOfRefund: isOfRefund))
    }

    private func wholeDayCause(_ key: SalesFigure.Key) -> SalesDifference.Cause? {
        if !days.contains(key.day) { return .fileMissing }
        let isKnown = products.contains(key.product)
        if !isKnown, coversOtherApps { return .otherApp }
        if doubledDays.contains(key.day) { return .countedTwice }
        return isKnown ? nil : .unknownProduct
    }

    private func cause(
        ofUnits mine: SalesFigure, _ theirs: SalesFigure
    ) -> SalesDifference.Cause {
        let difference = theirs.units.subtractingSaturated(mine.units)
        if theirs.gross == mine.gross {
            if difference > 0, difference == mine.sharedUnits { return .familySharing }
            if theirs.freeUnits != mine.freeUnits { return .freeUnits }
        }
        return difference > 0 ? .notHeardOf : .notInFile
    }

    /// The cause of a difference in proceeds. Proceeds depend on units, prices and refunds. If
    /// units, prices and refunds are equal, the App Store keeps another share, or subtracts another
    /// tax. The share is the cause if the two proceeds have the same ratio as the seller's parts
    /// under the App Store's two shares.
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

    /// Whether two proceeds of the same price have the ratio 70 to 85, except for rounding.
    private static func isOtherShare(_ one: Int64, _ other: Int64) -> Bool {
        let (low, high) = (min(abs(one), abs(other)), max(abs(one), abs(other)))
        let standard = Percentage.whole - MoneyRules.standardRate
        let reduced = Percentage.whole - MoneyRules.reducedRate
        let expected = Double(low) * Double(reduced) / Double(standard)
        return abs(Double(high) - expected) <= max(expected / 1000, 2)
    }

    // MARK: - Items

    /// Explains differences that come from lists of items. If a file lists items of unknown
    /// products, its sums may belong to products that we know and that the file does not name. Then
    /// nothing is missing on either side.
    private mutating func explainItemLists() {
        let unnamed = differences.indices.filter {
            let one = differences[$0]
            let isUnknown = [.unknownProduct, .otherApp].contains(one.cause)
            // Free sales are also listed under the items.
            let isOurs = one.cause == .notInFile || one.cause == .freeUnits
            return one.key.product.isItemList ? isUnknown : isOurs
        }
        let groups = Dictionary(grouping: unnamed) { index -> SalesFigure.Key in
            var key = differences[index].key
            key.product = ""
            return key
        }
        for indices in groups.values where indices.contains(where: isOfItems) {
            let sums = Dictionary(grouping: indices) { differences[$0].quantity }.values.map {
                $0.reduce(Int64(0)) { $0.addingSaturated(differences[$1].difference) }
            }
            guard sums.allSatisfy({ $0 == 0 }) else { continue }
            for index in indices { differences[index].cause = .itemSKUs }
        }
    }

    private func isOfItems(_ index: Int) -> Bool { differences[index].key.product.isItemList }

    // MARK: - Other days

    /// Explains differences that cancel each other out on different days: first pairs, then runs of
    /// days whose differences add up to zero.
    private mutating func explainByOtherDays() {
        let movable = differences.indices.filter { differences[$0].cause.isMovable }
        for indices in Dictionary(grouping: movable, by: { differences[$0].place }).values {
            let inOrder = indices.sorted { differences[$0].key.day < differences[$1].key.day }
            explain(runsOf: explain(pairsOf: inOrder))
        }
        explainReversals()
    }

    /// Explains reversed refunds. For the App Store, a reversed refund is a refund and another
    /// sale. Our figures contain neither this refund nor this sale.
    private mutating func explainReversals() {
        let left = differences.indices.filter { differences[$0].cause == .notHeardOf }
        for refund in left where differences[refund].quantity == .refundedUnits {
            let units = differences[refund].difference
            guard let sale = left.first(where: { isSale($0, reversing: refund, units) }) else {
                continue
            }
            for index in left
            where differences[index].cause == .notHeardOf
                && [differences[refund].key, differences[sale].key].contains(differences[index].key)
            {
                differences[index].cause = .refundReversed
            }
        }
    }

    private func isSale(_ sale: Int, reversing refund: Int, _ units: Int64) -> Bool {
        let (sold, back) = (differences[sale], differences[refund])
        return sold.quantity == .units && sold.cause == .notHeardOf && sold.difference == units
            && sold.key.product == back.key.product && sold.key.country == back.key.country
            && sold.key.currency == back.key.currency && sold.key.day >= back.key.day
    }

    /// Explains pairs of differences that cancel each other. Returns the indices of the remaining
    /// differences.
    private mutating func explain(pairsOf indices: [Int]) -> [Int] {
        var left: [Int] = []
        for index in indices {
            let difference = differences[index]
            if let other = left.firstIndex(where: {
                differences[$0].difference == -difference.difference
                    && difference.key.day - differences[$0].key.day <= Self.daysApartMax
            }) {
                explain([left.remove(at: other), index])
            } else {
                left.append(index)
            }
        }
        return left
    }

    private mutating func explain(runsOf indices: [Int]) {
        var run: [Int] = []
        var sum: Int64 = 0
        for index in indices {
            run.append(index)
            sum = sum.addingSaturated(differences[index].difference)
            guard sum == 0 else { continue }
            if differences[index].key.day - differences[run[0]].key.day <= Self.daysApartMax {
                explain(run)
            }
            run = []
        }
    }

    private mutating func explain(_ indices: [Int]) {
        let days = indices.map { differences[$0].key.day }
        let apart = (days.max() ?? 0) - (days.min() ?? 0)
        for index in indices {
            differences[index].cause = apart == 1 ? .dayBoundary : differences[index].movedCause
        }
    }
}

extension SalesDifference {
    /// The properties that must be equal for two differences to cancel each other out.
    fileprivate struct Place: Hashable {
        var product: ProductID
        var country: String?
        var currency: String?
        var quantity: Quantity
    }

    fileprivate var place: Place {
        Place(
            product: key.product, country: key.country, currency: key.currency,
            quantity: quantity)
    }

    /// The cause if the other side has the amount on another day that is not adjacent.
    fileprivate var movedCause: Cause {
        switch quantity {
        case .refundedUnits, .refunded: .refundOnAnotherDay
        case .units, .gross, .active, .trials, .grace, .retry: .chargeOnAnotherDay
        case .proceeds: isOfRefund ? .refundOnAnotherDay : .chargeOnAnotherDay
        }
    }
}

extension SalesDifference.Cause {
    /// Whether the other side may have the same amount on another day.
    fileprivate var isMovable: Bool { self == .notHeardOf || self == .notInFile }

    /// Whether money may be missing.
    package var isResidual: Bool {
        switch self {
        case .notHeardOf, .notInFile, .price, .commission, .tax, .unknownProduct, .countedTwice:
            true
        case .fileMissing, .dayBoundary, .refundOnAnotherDay, .chargeOnAnotherDay,
            .refundReversed, .graceAfterTrial, .familySharing, .freeUnits, .itemSKUs, .otherApp:
            false
        }
    }
}

extension ProductID {
    /// Whether the text is a list of items, which a report contains in place of a product: the
    /// SKUs, each in single quotation marks.
    fileprivate var isItemList: Bool { rawValue.hasPrefix("'") }
}
