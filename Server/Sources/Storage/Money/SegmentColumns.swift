import Ledger
import Reports

/// The columns of a ``Segment``, in the order in which they are stored.
enum SegmentColumns {
    static let names = [
        "product", "subscription_group", "storefront", "offer_kind", "offer", "price", "currency",
    ]

    static func values(of segment: Segment) -> [Value] {
        [
            .text(segment.product.rawValue), .text(segment.group), .text(segment.storefront),
            .text(segment.offer?.kind.word), .text(segment.offer?.id),
            .integer(segment.price?.milliunits), .text(segment.price?.currency),
        ]
    }

    /// Reads a segment whose columns begin at the given one.
    static func segment(_ row: Row, at column: Int) throws(StorageFailure) -> Segment {
        var segment = Segment(product: ProductID(rawValue: try row.text(column)))
        segment.group = try row.optionalText(column + 1)
        segment.storefront = try row.optionalText(column + 2)
        if let word = try row.optionalText(column + 3) {
            let kind = Offer.Kind.allCases.first { $0.word == word } ?? .unknown
            segment.offer = Offer(kind, id: try row.optionalText(column + 4))
        }
        if let price = try row.optionalInteger(column + 5),
            let currency = try row.optionalText(column + 6)
        {
            segment.price = Money(milliunits: price, currency: currency)
        }
        return segment
    }
}

/// Builds `INSERT` statements for tables with many columns.
enum Insertion {
    static func statement(into table: String, _ columns: [String]) -> String {
        let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        return "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(places))"
    }
}
