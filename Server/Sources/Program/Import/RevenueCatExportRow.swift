import AppStoreFormats
import Engine
import Ledger

/// Reads a row of RevenueCat's export of transactions, in any of its versions. A row is a
/// transaction of a store, or a promotional grant.
struct RevenueCatExportRow {
    private static let promotional = "promotional"
    private static let promotionalPrefix = "rc_promo_"
    /// The suffixes of the product ids of grants. For `_lifetime`, RevenueCat writes an end about
    /// two hundred years after the start, unless the grant was ended earlier.
    private static let lifetime = "_lifetime"
    private static let durations = [
        lifetime, "_daily", "_three_day", "_weekly", "_two_week", "_monthly", "_two_month",
        "_three_month", "_six_month", "_yearly", "_custom",
    ]

    /// If a lifetime grant lasts longer than this according to its dates, it has no end.
    private static let lifetimeMin = Duration.days(36_525)

    let values: ImportValues
    /// The environment of rows that do not name one.
    let environment: Environment

    var row: ImportRow {
        get throws(UnusableRow) {
            let isGrant = values[.store]?.lowercased() == Self.promotional
            if !isGrant { try values.requireAppleStore() }
            let evidence = try isGrant ? grant : purchase
            let (customer, alias) = try ids
            var row = ImportRow(
                customer: CustomerID(rawValue: customer),
                alias: alias.map { CustomerID(rawValue: $0) }, evidence: evidence)
            do throws(UnusableRow) { row.details.firstSeenAt = try values.firstSight } catch {
                row.defects.append(error.reason)
            }
            if !isGrant { row.details.sale = values.sale }
            addAttributes(to: &row)
            return row
        }
    }

    /// The two ids of the row. The customer's id is the id that the app assigned; the other id is
    /// an alias. RevenueCat's SDK makes the alias for a device without log-in. With the alias, that
    /// device has access at its first launch.
    private var ids: (customer: String, alias: String?) {
        get throws(UnusableRow) {
            let ids = [values[.customer], values[.alias]].compactMap { $0 }
            let own = ids.filter { !$0.hasPrefix(CustomerID.revenueCatAnonymousPrefix) }
            guard let first = own.first ?? ids.first else {
                throw UnusableRow(reason: "no app user id")
            }
            return (first, ids.first { $0 != first })
        }
    }

    private var ownEnvironment: Environment {
        get throws(UnusableRow) {
            guard let isSandbox = values[.isSandbox] else { return environment }
            switch isSandbox.lowercased() {
            case "true", "t", "1": return .sandbox
            case "false", "f", "0": return .production
            default:
                throw UnusableRow(
                    reason: "is_sandbox is “\(isSandbox.prefix(ImportValues.quotedMax))”; it must "
                        + "be true or false")
            }
        }
    }

    private var purchase: ImportRow.Evidence {
        get throws(UnusableRow) {
            guard let number = values[.number] else {
                throw UnusableRow(reason: "no original_store_transaction_id")
            }
            return .number(number, in: try ownEnvironment)
        }
    }

    // MARK: - Grants

    private var grant: ImportRow.Evidence {
        get throws(UnusableRow) {
            guard let entitlement, let product = values[.product] else {
                throw UnusableRow(
                    reason: "a promotional grant without an entitlement; grant it by hand")
            }
            if let refund = try values.decidingMoment(.refunded, called: "refunded_at") {
                throw UnusableRow(
                    reason:
                        "the promotional grant was taken back at \(refund) (refunded_at), so it "
                        + "gives nothing; if it was imported before, withdraw it by hand")
            }
            guard let start = try values.decidingMoment(.start, called: "start_time") else {
                throw UnusableRow(
                    reason: "a promotional grant without start_time; grant it by hand")
            }
            let key =
                values[.transaction]
                ?? [values[.alias] ?? values[.customer] ?? "", product, "\(start)"]
                .joined(separator: " ")
            let grant = ImportedGrant(
                EntitlementID(rawValue: entitlement), from: start,
                until: try accessEnd(of: product, from: start), key: key)
            return .grant(grant, in: try ownEnvironment)
        }
    }

    /// The entitlement that a grant gives. If the row's list has exactly one entitlement, this is
    /// the one. Otherwise it is part of the product's id, such as `rc_promo_pro_monthly`.
    private var entitlement: String? {
        if let listed = values[.entitlements].map(Self.listed), listed.count == 1 {
            return listed.first
        }
        guard let product = values[.product], product.hasPrefix(Self.promotionalPrefix) else {
            return nil
        }
        let name = product.dropFirst(Self.promotionalPrefix.count)
        // If two suffixes match, such as `_three_month` and `_month`, the longer one counts.
        let ending = Self.durations.filter { name.hasSuffix($0) }.max { $0.count < $1.count }
        let entitlement = name.dropLast(ending?.count ?? 0)
        return entitlement.isEmpty ? nil : String(entitlement)
    }

    /// The names in a list such as `["a","b"]`, `['a']` or `{a,b}`.
    static func listed(_ text: String) -> [String] {
        text.split { "[]{},".contains($0) }
            .map { part in
                String(part.trimmed.drop { "\"'".contains($0) }.prefix { !"\"'".contains($0) })
            }
            .filter { !$0.isEmpty }
    }

    /// When a grant ends: at the end of its access or, if that end is unknown, at the end of its
    /// period. Nil only for a lifetime grant whose end is missing or too late to be real. If the
    /// end of any other grant is missing, the row cannot be used.
    private func accessEnd(
        of product: String, from start: Instant
    ) throws(UnusableRow) -> Instant? {
        let effectiveEnd = try values.decidingMoment(.effectiveEnd, called: "effective_end_time")
        let periodEnd = try values.decidingMoment(.end, called: "end_time")
        let end = effectiveEnd ?? periodEnd
        if product.hasSuffix(Self.lifetime) {
            return end.flatMap { $0 > start + Self.lifetimeMin ? nil : $0 }
        }
        guard let end else {
            throw UnusableRow(
                reason: "a promotional grant without effective_end_time and end_time; grant it by "
                    + "hand")
        }
        return end
    }

    // MARK: - Attributes

    private func addAttributes(to row: inout ImportRow) {
        let columns: [(ImportColumn, String)] = [
            (.reservedAttributes, "reserved_subscriber_attributes"),
            (.attributes, "custom_subscriber_attributes"),
        ]
        for (column, name) in columns {
            do throws(UnusableRow) {
                for member in try values.members(column, called: name) {
                    do throws(UnusableRow) {
                        row.details.attributes.append(try change(member))
                    } catch { row.defects.append(error.reason) }
                }
            } catch { row.defects.append(error.reason) }
        }
    }

    /// An attribute, with the time at which it was set. If this time is missing, the time of
    /// RevenueCat's last change of the row is used, because the attribute had its value then. An
    /// attribute without a value was deleted.
    ///
    /// - Throws: ``UnusableRow`` if no time is known, or if the value has an unknown form.
    private func change(_ member: JSON.Member) throws(UnusableRow) -> AttributeChange {
        let name = member.key.prefix(ImportValues.quotedMax)
        guard member.value.members != nil || member.value == .null else {
            throw UnusableRow(
                reason: "the attribute \(name) is not an object with a value, so it was left out")
        }
        let value = member.value["value"] ?? .null
        let text = ImportValues.attribute(value)
        guard text != nil || value == .null else {
            throw UnusableRow(
                reason: "the value of the attribute \(name) is a list or an object, so it was left "
                    + "out")
        }
        let time = member.value["updated_at_ms"]?.integer.map(Instant.init(milliseconds:))
        guard let time = time ?? values.moment(.updatedAt) else {
            throw UnusableRow(
                reason: "the attribute \(name) has no updated_at_ms, so it was left out")
        }
        return AttributeChange(name: member.key, value: text, updatedAt: time)
    }
}
