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

    static func segment(_ row: inout ColumnReader) throws(StorageFailure) -> Segment {
        var segment = Segment(product: try row.product())
        segment.group = try row.optionalText()
        segment.storefront = try row.optionalText()
        let (offerKind, offer) = (try row.optionalText(), try row.optionalText())
        if let offerKind {
            let kind = Offer.Kind.allCases.first { $0.word == offerKind } ?? .unknown
            segment.offer = Offer(kind, id: offer)
        }
        let (price, currency) = (try row.optionalInteger(), try row.optionalText())
        if let price, let currency {
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
