/// What follows the end of the paid time, as far as the App Store has reported it.
package enum Continuation: Hashable, Sendable {
    /// The subscription renews and gives the same access. The value is the product of the next
    /// period; nil if it is the present product.
    case renews(as: ProductID?)
    /// The subscription renews as the given product, which does not give the same access.
    case changes(to: ProductID)
    case ends
    case unknown

    /// Whether access that is open now stays open at the end of the period. Nil if the App Store
    /// has not reported it.
    package var willRenew: Bool? {
        switch self {
        case .renews: true
        case .changes, .ends: false
        case .unknown: nil
        }
    }

    var clause: String {
        switch self {
        case .renews(nil): ", then renews"
        case .renews(let product?): ", then renews as \(product)"
        case .changes(let product): ", then changes to \(product)"
        case .ends: ", will not renew"
        case .unknown: ""
        }
    }
}

extension Timeline {
    /// What follows a period, for a customer who has access through one of the given products. If
    /// no products are given, any product of the chain gives access.
    ///
    /// Renewal info from before the period began is ignored if it says that renewal was off,
    /// because since then the customer has subscribed again, or has bought another product.
    func continuation(
        after period: Period, through products: Set<ProductID> = []
    ) -> Continuation {
        guard period.payment.kind == .autoRenewable else { return .ends }
        let news = renewalInfo(about: period) ?? (renewal?.value.willRenew == true ? renewal : nil)
        guard let info = news?.value else { return .unknown }
        guard info.willRenew else { return .ends }
        guard let next = info.renewsTo, next != period.product else { return .renews(as: nil) }
        let isSame = products.isEmpty || products.contains(next)
        return isSame ? .renews(as: next) : .changes(to: next)
    }
}
