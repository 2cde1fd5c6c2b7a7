import AppStoreFormats
import Engine
import Ledger

/// Reads a row of Adapty's or Apphud's export: an event of a purchase. Only the ids in the row are
/// used. Everything else about the purchase comes from the App Store.
struct EventExportRow {
    /// The prefix of the ids of people about whom Apphud knows only a notification from Apple.
    private static let apphudStrangerPrefix = "anon_"

    let values: ImportValues
    let kind: ImportKind
    /// The environment of rows that do not name one.
    let environment: Environment

    var row: ImportRow {
        get throws(UnusableRow) {
            try values.requireAppleStore()
            guard let number = values[.number] else {
                let name = kind.columns[.number]?.first ?? ""
                throw UnusableRow(
                    reason: "no \(name), so the row names no purchase of the App Store; if it is "
                        + "about access that was given by hand, grant it here")
            }
            var row = ImportRow(
                customer: customer, evidence: .number(number, in: try ownEnvironment))
            row.details.sale = values.sale
            do throws(UnusableRow) { row.details.firstSeenAt = try values.firstSight } catch {
                row.defects.append(error.reason)
            }
            addAttributes(to: &row)
            return row
        }
    }

    private var customer: CustomerID? {
        guard let id = values[.customer] else { return nil }
        if kind == .apphud, id.hasPrefix(Self.apphudStrangerPrefix) { return nil }
        return CustomerID(rawValue: id)
    }

    private var ownEnvironment: Environment {
        get throws(UnusableRow) {
            guard let name = values[.environment] else { return environment }
            guard let known = Environment(rawValue: name.lowercased()) else {
                throw UnusableRow(
                    reason: "the environment \(name.prefix(40)) is unknown; it must be production "
                        + "or sandbox")
            }
            return known
        }
    }

    /// Adds the attributes in the row. Attributes have no time of their own, so they get the time
    /// of the event.
    private func addAttributes(to row: inout ImportRow) {
        guard row.customer != nil, let time = values.moment(.updatedAt) else { return }
        do throws(UnusableRow) {
            for member in try values.members(.attributes, called: "attributes") {
                guard let value = ImportValues.attribute(member.value) else { continue }
                row.details.attributes.append(
                    AttributeChange(name: member.key, value: value, updatedAt: time))
            }
        } catch { row.defects.append(error.reason) }
        for (column, name) in [(ImportColumn.idfa, "$idfa"), (.idfv, "$idfv")] {
            guard let value = values[column] else { continue }
            row.details.attributes.append(
                AttributeChange(name: name, value: value, updatedAt: time))
        }
    }
}
