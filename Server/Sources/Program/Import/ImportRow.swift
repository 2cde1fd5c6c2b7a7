import Engine
import Ledger

/// One parsed row of an import.
struct ImportRow: Hashable, Sendable {
    var customer: CustomerID?
    /// Another id of the row's customer; nil if the row has only one id.
    var alias: CustomerID?
    var evidence: Evidence
    /// The content of the row other than its evidence.
    var details = ImportedDetails()
    /// Why parts of the details cannot be read. The evidence is still used.
    var defects: [String] = []

    enum Evidence: Hashable, Sendable {
        case receipt(String)
        case number(String, in: Environment)
        /// An entitlement that the vendor has granted by hand.
        case grant(ImportedGrant, in: Environment)
    }
}

/// The reason why a row cannot be used.
struct UnusableRow: Error, Hashable, Sendable {
    var reason: String

    static let notUTF8 = UnusableRow(reason: "not UTF-8; convert the file first")
}
