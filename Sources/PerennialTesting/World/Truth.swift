/// The purchases of an account, and which of them the account may use, according to the simulator.
public struct Truth: Decodable, Sendable {
    public let purchases: [Purchase]
    public let pending: [Pending]

    /// One purchase, with its state if it is a subscription.
    public struct Purchase: Decodable, Sendable {
        public let productId: String
        /// Whether the customer may use the product now.
        public let open: Bool
        /// The state, such as `paid`, `grace` or `expired`: `docs/simulator.md` lists all.
        public let state: String
        public let willRenew: Bool?
    }

    /// A purchase that waits for a parent or a bank.
    public struct Pending: Decodable, Sendable {
        public let id: String
        public let productId: String
    }

    /// Whether the customer may use a product whose id begins with this word and a dot, such as
    /// `pro` for `pro.monthly`.
    public func isOpen(_ entitlement: String) -> Bool {
        purchases.contains {
            $0.open && ($0.productId == entitlement || $0.productId.hasPrefix("\(entitlement)."))
        }
    }

    /// The number of purchases of a product that the customer may use now.
    public func count(of product: String) -> Int {
        purchases.filter { $0.productId == product && $0.open }.count
    }
}
