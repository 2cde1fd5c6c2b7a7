import Ledger
import Reports

/// The amounts that one movement adds to the sums of its day, or subtracts from them.
struct SumChange: Hashable, Sendable {
    /// The day of the movement, counted from 1970-01-01, in the configured time zone.
    var day: Int64
    var category: Movement.Category
    var segment: Segment
    var totals: Totals
    /// The number of movements: negative if they are subtracted.
    var movements: Int64

    init(adding movement: Movement, on day: Int64) {
        self.init(day, movement.category, movement.segment, Totals(movement), 1)
    }

    init(removing movement: Movement, from day: Int64) {
        self.init(day, movement.category, movement.segment, -Totals(movement), -1)
    }

    private init(
        _ day: Int64, _ category: Movement.Category, _ segment: Segment, _ totals: Totals,
        _ movements: Int64
    ) {
        (self.day, self.category, self.segment) = (day, category, segment)
        (self.totals, self.movements) = (totals, movements)
    }

    /// The changes, without those that cancel each other. Two changes cancel each other if the same
    /// movement is removed and added again.
    static func net(_ changes: [SumChange]) -> [SumChange] {
        var left: [SumChange: Int64] = [:]
        for change in changes { left[change.magnitude, default: 0] += change.movements }
        return changes.filter { change in
            let one = change.magnitude
            guard let count = left[one], count.signum() == change.movements else { return false }
            left[one] = count - change.movements
            return true
        }
    }

    /// The change with the sign of an added movement. Adding and removing a movement have the same
    /// magnitude.
    private var magnitude: SumChange {
        movements < 0 ? SumChange(day, category, segment, -totals, -movements) : self
    }
}

extension Totals {
    fileprivate init(_ movement: Movement) { self.init(movement.amounts, movement.counts) }
}

// MARK: - Bytes

extension SumChange {
    /// Reads a change that ``write(to:)`` wrote.
    init(_ reader: inout ByteReader) throws(StorageFailure) {
        day = try reader.number()
        category = try reader.named()
        segment = Segment(
            product: ProductID(rawValue: try reader.text()), group: try reader.optionalText(),
            storefront: try reader.optionalText(), offer: try reader.optionalOffer(),
            price: try reader.optionalMoney())
        movements = try reader.number()
        var numbers: [Int64] = []
        for _ in MovementRows.sumColumns { numbers.append(try reader.number()) }
        totals = Totals(numbers: numbers)
    }

    func write(to writer: inout ByteWriter) {
        writer.write(day)
        writer.write(category.rawValue)
        writer.write(segment.product.rawValue)
        writer.write(segment.group) { $0.write($1) }
        writer.write(segment.storefront) { $0.write($1) }
        writer.write(segment.offer) { $0.write($1) }
        writer.write(segment.price) { $0.write($1) }
        writer.write(movements)
        for number in totals.numbers { writer.write(number) }
    }
}
