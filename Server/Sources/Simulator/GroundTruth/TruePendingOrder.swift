import AppStoreFormats

/// A pending order, in the ground truth.
package struct TruePendingOrder: Hashable, Sendable {
    /// The id by which it is approved, declined or resolved.
    package let id: String
    package let productID: String
    /// `ask_to_buy` or `interrupted`.
    package let reason: String
    package let since: AppStoreDate

    package var json: JSON {
        [
            "id": .string(id), "product_id": .string(productID), "reason": .string(reason),
            "since": .string(RFC3339.text(since)),
        ]
    }
}

/// A family, in the ground truth.
package struct TrueFamily: Hashable, Sendable {
    package let name: String
    /// The accounts, the organiser first.
    package let members: [String]

    package var json: JSON {
        ["name": .string(name), "members": .array(members.map { .string($0) })]
    }
}

extension TrueBooks {
    func pendingOrders(of account: Account.Key) -> [TruePendingOrder] {
        let waiting = world.pendingPurchases.values.filter { $0.account == account }
        return waiting.sorted { $0.id < $1.id }.map { order in
            TruePendingOrder(
                id: order.id, productID: order.order.productID, reason: order.reason.rawValue,
                since: order.since)
        }
    }
}

extension Family {
    var trueFamily: TrueFamily { TrueFamily(name: name, members: members.map(\.name)) }
}
