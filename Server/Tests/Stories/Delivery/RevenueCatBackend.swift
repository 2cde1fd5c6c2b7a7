import AppStoreFormats
import Ledger

/// A backend that follows RevenueCat's documentation. A purchase opens access until its end;
/// EXPIRATION and refunds close it. For a TRANSFER the backend first opens all access for the new
/// owner, and then closes all access of the former owner. It has no other source of knowledge.
struct RevenueCatBackend {
    /// The access that a chain of renewals, or a single purchase, gives by one product.
    private struct Right {
        var entitlements: Set<String>
        /// Nil if the access does not end by itself.
        var until: Int64?
    }

    private struct Place: Hashable {
        var original: String
        var product: String
    }

    private var rights: [String: [Place: Right]] = [:]
    /// The ids of each customer, grouped by the id that was seen first.
    private var customers: [String: String] = [:]

    /// The entitlements that are open for a customer with these ids.
    func open(for ids: [String], at now: Int64) -> Set<String> {
        let own = Set(ids.map { customers[$0] ?? $0 }).compactMap { rights[$0] }
        let current = own.flatMap(\.values).filter { $0.until.map { $0 > now } ?? true }
        return current.reduce(into: []) { $0.formUnion($1.entitlements) }
    }

    mutating func take(_ event: JSON) {
        let type = event["type"]?.string ?? ""
        guard type != "TRANSFER" else { return transfer(event) }
        guard let customer = join(event) else { return }
        let place = Place(
            original: event["original_transaction_id"]?.string ?? "",
            product: event["product_id"]?.string ?? "")
        switch type {
        case "INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION", "NON_RENEWING_PURCHASE",
            "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED":
            rights[customer, default: [:]][place] = Right(
                entitlements: Set((event["entitlement_ids"]?.array ?? []).compactMap(\.string)),
                until: event["expiration_at_ms"]?.integer)
        case "BILLING_ISSUE":
            if let until = event["expiration_at_ms"]?.integer {
                rights[customer]?[place]?.until = until
            }
        case "EXPIRATION": close(place.original, of: customer)
        case "CANCELLATION" where event["cancel_reason"] == "CUSTOMER_SUPPORT":
            close(place.original, of: customer)
        default: break
        }
    }

    private mutating func close(_ original: String, of customer: String) {
        rights[customer] = rights[customer]?.filter { $0.key.original != original }
    }

    private mutating func transfer(_ event: JSON) {
        let from = names(event["transferred_from"])
        for new in names(event["transferred_to"]).prefix(1) {
            for former in from {
                rights[new, default: [:]].merge(rights[former] ?? [:]) { _, moved in moved }
            }
        }
        for former in from { rights[former] = nil }
    }

    private func names(_ ids: JSON?) -> [String] {
        (ids?.array ?? []).compactMap(\.string).map { customers[$0] ?? $0 }
    }

    /// Returns the customer of an event, and gives the customer all ids in the event.
    private mutating func join(_ event: JSON) -> String? {
        guard let id = event["app_user_id"]?.string else { return nil }
        let ids = [id] + (event["aliases"]?.array ?? []).compactMap(\.string)
        let known = Set(ids.map { customers[$0] ?? $0 })
        let one = customers[id] ?? id
        for (alias, name) in customers where known.contains(name) { customers[alias] = one }
        for alias in ids { customers[alias] = one }
        for other in known where other != one {
            rights[one, default: [:]].merge(rights[other] ?? [:]) { own, _ in own }
            rights[other] = nil
        }
        return one
    }
}
