/// An entitlement that products give, such as `pro`: whether it is active, until when, and why.
public struct Entitlement: Hashable, Sendable, Codable {
    public var active: Bool
    /// If the entitlement is active: when access ends if nothing else happens, or nil if access
    /// never ends. If the entitlement is not active: when access ended.
    public var until: Timestamp?
    public var state: AccessState
    /// Why the entitlement is active or not, in one sentence for people.
    public var reason: String
    /// Whether the entitlement stays active after ``until`` if the payment succeeds. False if the
    /// subscription renews as a product that does not give the entitlement. Nil if the App Store
    /// has not said.
    public var willRenew: Bool?
    /// The product that gives the entitlement. Nil if the entitlement was granted manually. Then
    /// ``purchaseID`` is nil, too.
    public var productID: String?
    public var purchaseID: String?
    /// The grant that gives the entitlement. Nil if a purchase gives it.
    public var grantID: String?

    public init(
        active: Bool, until: Timestamp?, state: AccessState, reason: String, willRenew: Bool?,
        productID: String?, purchaseID: String?, grantID: String? = nil
    ) {
        self.active = active
        self.until = until
        self.state = state
        self.reason = reason
        self.willRenew = willRenew
        self.productID = productID
        self.purchaseID = purchaseID
        self.grantID = grantID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case active
        case until
        case state
        case reason
        case willRenew = "will_renew"
        case productID = "product_id"
        case purchaseID = "purchase_id"
        case grantID = "grant_id"
    }
}
