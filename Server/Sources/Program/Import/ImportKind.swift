import AppStoreFormats
import Ledger

/// The kind of an import file.
enum ImportKind: String, CaseIterable, Sendable {
    /// App receipts, or transaction receipts, in Base64.
    case receipts
    /// The ids of the original transactions of purchases.
    case originalTransactionIDs = "original-transaction-ids"
    /// The transactions of RevenueCat's "Scheduled Data Exports".
    case revenueCat = "revenuecat-export"

    /// The columns to read, with the names under which each may appear.
    fileprivate var columns: [Column: [String]] {
        switch self {
        case .receipts:
            [
                .customer: ["customer_id"],
                .receipt: ["app_receipt", "receipt", "receipt_data", "transaction_receipt"],
            ]
        case .originalTransactionIDs:
            [.customer: ["customer_id"], .number: ["original_transaction_id"]]
        case .revenueCat:
            [
                .customer: ["rc_last_seen_app_user_id_alias"],
                .alias: ["rc_original_app_user_id"], .number: ["original_store_transaction_id"],
                .store: ["store"], .isSandbox: ["is_sandbox"],
            ]
        }
    }

    /// The name of the column with the customer id.
    var customerColumn: String { columns[.customer]?.first ?? "" }

    /// The possible orders of the columns if the first line is not a header.
    fileprivate var usualColumns: [[Column]] {
        switch self {
        case .receipts: [[.receipt], [.customer, .receipt]]
        case .originalTransactionIDs: [[.number], [.customer, .number]]
        case .revenueCat: []
        }
    }
}

private enum Column: Hashable {
    case customer
    case alias
    case receipt
    case number
    case store
    case isSandbox
}

/// One parsed row of an import.
struct ImportRow: Hashable, Sendable {
    var customer: CustomerID?
    /// Another id of the row's customer; nil if the row has only one id.
    var alias: CustomerID?
    var evidence: Evidence

    enum Evidence: Hashable, Sendable {
        case receipt(String)
        case number(String, in: Environment)
    }
}

/// The reason why a row cannot be used.
struct UnusableRow: Error, Hashable, Sendable {
    var reason: String

    static let notUTF8 = UnusableRow(reason: "not UTF-8; convert the file first")
}

/// Where each value is in the rows of a file.
struct ImportColumns: Sendable {
    let kind: ImportKind
    /// The environment of rows that name none.
    let environment: Environment
    /// Whether the first row is a header.
    let hasHeader: Bool
    /// The names in the header if there are several but none is a customer column; otherwise empty.
    let namesWithoutCustomer: [String]
    private let places: [Column: Int]

    /// RevenueCat's names for Apple's stores.
    private static let stores: Set = ["app_store", "mac_app_store"]

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
        var places: [Column: Int] = [:]
        for (column, names) in kind.columns {
            places[column] = first.firstIndex { names.contains(Self.plain($0)) }
        }
        let evidence: Column = kind == .receipts ? .receipt : .number
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
            return try row { column in
                places[column].flatMap { fields.indices.contains($0) ? fields[$0] : nil }
            }
        case .json(let bytes):
            guard let json = try? JSON(parsing: bytes), json.members != nil else {
                guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
                throw UnusableRow(reason: "not a JSON object")
            }
            return try row { column in
                for name in kind.columns[column] ?? [] {
                    if let text = json[name]?.string { return text }
                    if let number = json[name]?.integer { return "\(number)" }
                    if let flag = json[name]?.bool { return "\(flag)" }
                }
                return nil
            }
        }
    }

    private func row(_ value: (Column) -> String?) throws(UnusableRow) -> ImportRow {
        func text(_ column: Column) -> String? {
            let text = value(column).map { String($0[...].trimmed) }
            return text?.isEmpty == true || text == "null" ? nil : text
        }
        let customer = text(.customer).map { CustomerID(rawValue: $0) }
        switch kind {
        case .receipts:
            guard let receipt = text(.receipt) else { throw UnusableRow(reason: "no receipt") }
            return ImportRow(customer: customer, evidence: .receipt(receipt))
        case .originalTransactionIDs:
            guard let number = text(.number) else {
                throw UnusableRow(reason: "no original_transaction_id")
            }
            return ImportRow(customer: customer, evidence: .number(number, in: environment))
        case .revenueCat:
            return try revenueCatRow(
                customer: text(.customer), original: text(.alias), number: text(.number),
                store: text(.store), isSandbox: text(.isSandbox))
        }
    }

    /// Reads a row of RevenueCat's file, which has two customer ids. The customer's id is the one
    /// that the app assigned, and the other one is an alias. A device without log-in has access at
    /// its first launch by the alias that RevenueCat's SDK made for it.
    private func revenueCatRow(
        customer: String?, original: String?, number: String?, store: String?, isSandbox: String?
    ) throws(UnusableRow) -> ImportRow {
        if let store, !Self.stores.contains(store.lowercased()) {
            throw UnusableRow(reason: "the store is \(store), not Apple's")
        }
        guard let number else { throw UnusableRow(reason: "no original_store_transaction_id") }
        let ids = [customer, original].compactMap { $0 }
        let own = ids.filter { !$0.hasPrefix(CustomerID.revenueCatAnonymousPrefix) }
        guard let first = own.first ?? ids.first else {
            throw UnusableRow(reason: "no app user id")
        }
        let second = ids.first { $0 != first }
        let isOfSandbox = isSandbox.map { ["true", "t", "1"].contains($0.lowercased()) }
        return ImportRow(
            customer: CustomerID(rawValue: first), alias: second.map { CustomerID(rawValue: $0) },
            evidence: .number(number, in: isOfSandbox == true ? .sandbox : .production))
    }
}

extension Substring {
    /// The text without leading and trailing white space.
    fileprivate var trimmed: Substring {
        var text = drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
