import AppStoreFormats
import Engine
import Ledger
import PerennialContract

/// The texts of one row of an import, by their columns.
struct ImportValues {
    /// RevenueCat's, Adapty's and Apphud's names for Apple's stores.
    private static let stores: Set = ["app_store", "mac_app_store"]
    /// The maximum number of attributes that are read from one cell.
    static let attributesMax = AttributeRules.changesMax
    /// The maximum number of characters of a cell that a reason quotes.
    static let quotedMax = 40

    let value: (ImportColumn) -> String?

    /// The text in a column without surrounding white space. Nil if there is no such column, or if
    /// it is empty.
    subscript(column: ImportColumn) -> String? {
        let text = value(column).map { String($0[...].trimmed) }
        return text?.isEmpty == true || text == "null" ? nil : text
    }

    /// - Throws: ``UnusableRow`` if the row is about another store than Apple's.
    func requireAppleStore() throws(UnusableRow) {
        guard let store = self[.store], !Self.stores.contains(store.lowercased()) else { return }
        throw UnusableRow(reason: "the store is \(store.prefix(40)), not Apple's")
    }

    /// The moment in a column. Nil if the column is empty, or not a time.
    func moment(_ column: ImportColumn) -> Instant? {
        self[column].flatMap { Instant(exported: $0) }
    }

    /// The moment in a column on which access depends. Nil if the column is empty.
    ///
    /// - Throws: ``UnusableRow`` if the text is not a time.
    func decidingMoment(
        _ column: ImportColumn, called name: String
    ) throws(UnusableRow) -> Instant? {
        guard let text = self[column] else { return nil }
        guard let moment = Instant(exported: text) else {
            throw UnusableRow(
                reason:
                    "\(name) is “\(text.prefix(Self.quotedMax))”, which is no time; correct it, "
                    + "or grant the entitlement by hand")
        }
        return moment
    }

    /// When the vendor saw the customer for the first time. Nil if the column is empty.
    ///
    /// - Throws: ``UnusableRow`` if there was no App Store at that time. Some exports write the
    ///   beginning of 1970 if a time is unknown.
    var firstSight: Instant? {
        get throws(UnusableRow) {
            guard let moment = moment(.firstSeen) else { return nil }
            guard moment >= .appStoreOpening else {
                throw UnusableRow(
                    reason: "the customer was first seen at \(moment), before the App Store "
                        + "opened, so this time was left out")
            }
            return moment
        }
    }

    /// The value of an attribute. Nil if the attribute has no value, or if the value is a list or
    /// an object.
    static func attribute(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .decimal(let literal): literal
        case .bool(let flag): "\(flag)"
        case .null, .array, .object: nil
        }
    }

    /// The sale of the row's own transaction.
    var sale: ImportedDetails.Sale? {
        guard let transaction = self[.transaction], let placement = self[.placement] else {
            return nil
        }
        return ImportedDetails.Sale(TransactionID(rawValue: transaction), at: placement)
    }

    /// A JSON object in a column. Some exports enclose it in quotation marks once more.
    ///
    /// - Throws: ``UnusableRow`` if the text is something else.
    func members(_ column: ImportColumn, called name: String) throws(UnusableRow) -> [JSON.Member] {
        guard let text = self[column] else { return [] }
        guard let members = Self.members(of: text) else {
            throw UnusableRow(reason: "\(name) is not a JSON object, so it was left out")
        }
        guard members.count <= Self.attributesMax else {
            throw UnusableRow(
                reason: "\(name) has more than \(Self.attributesMax) attributes, so it was left out"
            )
        }
        return members
    }

    private static func members(of text: String) -> [JSON.Member]? {
        if let members = (try? JSON(parsing: Array(text.utf8)))?.members { return members }
        guard text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        let inner = String(text.dropFirst().dropLast())
        // Two quotation marks may be an empty text, or stand for one quotation mark. The parser
        // decides which.
        return [inner, inner.replacing("\"\"", with: "\"")].lazy
            .compactMap { (try? JSON(parsing: Array($0.utf8)))?.members }.first
    }
}

extension Substring {
    /// The text without leading and trailing white space.
    var trimmed: Substring {
        var text = drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

extension Instant {
    /// The day on which the App Store opened, 2008-07-10. No customer was seen before.
    static let appStoreOpening = Instant(milliseconds: 1_215_648_000_000)

    /// A moment in one of the forms that vendors write. The first form is a date and a time in UTC,
    /// such as `2026-01-31 9:05:00`. The second form is ISO 8601 with an offset such as `Z` or
    /// `+02:00`. Both may have a fraction. Returns nil for any other text.
    init?(exported text: String) {
        let form =
            #/
            (\d{4}-\d{2}-\d{2}) [\ T] (\d{1,2}) : (\d{2}) : (\d{2}) (\.\d{1,9})?
            \ ? (Z | UTC | [+-] \d{2} :? \d{2})?
            /#
        guard let parts = try? form.wholeMatch(in: text)?.output,
            let date = CivilDate(String(parts.1)), let hour = Int64(parts.2),
            let minute = Int64(parts.3), let second = Int64(parts.4), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        let fraction = parts.5.map { String($0.dropFirst().prefix(3)) } ?? ""
        let milliseconds = Int64(fraction.padding(to: 3)) ?? 0
        let seconds = (hour * 60 + minute) * 60 + second - Self.offsetSeconds(parts.6)
        self.init(
            milliseconds: (date.dayNumber * Self.daySeconds + seconds) * 1000 + milliseconds)
    }

    private static let daySeconds: Int64 = 86_400

    /// The number of seconds by which an offset such as `+02:00` is ahead of UTC.
    private static func offsetSeconds(_ text: Substring?) -> Int64 {
        guard let text, let sign = text.first, sign == "+" || sign == "-" else { return 0 }
        let digits = text.dropFirst().filter(\.isNumber)
        let minutes = (Int64(digits.prefix(2)) ?? 0) * 60 + (Int64(digits.suffix(2)) ?? 0)
        return (sign == "-" ? -minutes : minutes) * 60
    }
}

extension String {
    /// The text, filled up to a length with zeros at its end.
    fileprivate func padding(to length: Int) -> String {
        self + String(repeating: "0", count: max(0, length - count))
    }
}
