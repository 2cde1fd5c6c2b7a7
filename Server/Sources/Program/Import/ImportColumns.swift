import AppStoreFormats
import Engine
import Ledger

/// Where each value is in the rows of a file.
struct ImportColumns: Sendable {
    let kind: ImportKind
    /// The environment of rows that do not name one.
    let environment: Environment
    /// Whether the first row is a header.
    let hasHeader: Bool
    /// The names in the header, if there are several names and none of them is a customer column.
    /// Otherwise empty.
    let namesWithoutCustomer: [String]
    private let places: [ImportColumn: Int]

    /// - Parameter first: the file's first row; nil for JSON, which names each value.
    /// - Throws: ``UnusableRow`` if a required column is missing.
    init(
        _ kind: ImportKind, first: [String]?, in environment: Environment
    ) throws(UnusableRow) {
        self.kind = kind
        self.environment = environment
        guard let first else {
            (hasHeader, namesWithoutCustomer, places) = (false, [], [:])
            return
        }
        let header = first.map(Self.plain)
        var places: [ImportColumn: Int] = [:]
        for (column, names) in kind.columns {
            // A file may have several of the names. Then the name that comes first in the list
            // counts.
            places[column] = names.lazy.compactMap { header.firstIndex(of: $0) }.first
        }
        let evidence = kind.evidenceColumn
        if places[evidence] != nil {
            let hasCustomer = places[.customer] != nil || places[.alias] != nil
            namesWithoutCustomer = hasCustomer || first.count < 2 ? [] : first
            (hasHeader, self.places) = (true, places)
            return
        }
        guard let usual = kind.usualColumns.first(where: { $0.count == first.count }) else {
            let wanted = (kind.columns[evidence] ?? []).joined(separator: ", or ")
            throw UnusableRow(reason: "The first line has no column \(wanted).")
        }
        (hasHeader, namesWithoutCustomer) = (false, [])
        self.places = Dictionary(
            uniqueKeysWithValues: usual.enumerated().map { ($0.element, $0.offset) })
    }

    private static func plain(_ name: String) -> String {
        var name = name[...]
        if name.first == "\u{FEFF}" { name = name.dropFirst() }
        return name.trimmed.lowercased()
    }

    /// Parses a row.
    func row(_ content: RowReader.Content) throws(UnusableRow) -> ImportRow {
        switch content {
        case .tooLong:
            throw UnusableRow(
                reason: "longer than \(RowReader.rowBytesMax) bytes; import the id of any of its "
                    + "purchases instead (original-transaction-ids)")
        case .notUTF8: throw .notUTF8
        case .unclosedQuote(let line):
            throw UnusableRow(
                reason: "a quote opened in line \(line) is never closed; nothing from "
                    + "there to the end of the file was read")
        case .fields(let fields):
            return try row(
                ImportValues { column in
                    places[column].flatMap { fields.indices.contains($0) ? fields[$0] : nil }
                })
        case .json(let bytes):
            guard let json = try? JSON(parsing: bytes), json.members != nil else {
                guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
                throw UnusableRow(reason: "not a JSON object")
            }
            return try row(
                ImportValues { column in
                    kind.columns[column]?.lazy.compactMap { json[$0].flatMap(Self.text) }.first
                })
        }
    }

    private static func text(of value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .array, .object: value.text
        case .null, .decimal: nil
        }
    }

    private func row(_ values: ImportValues) throws(UnusableRow) -> ImportRow {
        switch kind {
        case .receipts:
            guard let receipt = values[.receipt] else { throw UnusableRow(reason: "no receipt") }
            return ImportRow(
                customer: values[.customer].map { CustomerID(rawValue: $0) },
                evidence: .receipt(receipt))
        case .originalTransactionIDs:
            guard let number = values[.number] else {
                throw UnusableRow(reason: "no original_transaction_id")
            }
            return ImportRow(
                customer: values[.customer].map { CustomerID(rawValue: $0) },
                evidence: .number(number, in: environment))
        case .revenueCat:
            return try RevenueCatExportRow(values: values, environment: environment).row
        case .adapty, .apphud:
            return try EventExportRow(values: values, kind: kind, environment: environment).row
        }
    }
}
