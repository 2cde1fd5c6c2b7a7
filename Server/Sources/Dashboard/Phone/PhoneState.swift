import PerennialContract

/// Everything that the phone's page shows, as read from the App Store and from the server. The
/// page's texts are computed from these values alone.
package struct PhoneState: Hashable, Sendable {
    /// The owner of the phone, in the form in which the server sends a customer to the app.
    package var customer: Customer
    /// The virtual time.
    package var now: Timestamp
    /// The entitlement that the page is about, such as `pro`.
    package var entitlement: String
    /// What the app on the phone sells.
    package var products: [PhoneProduct]
    /// The customer's purchases according to the simulated App Store's records.
    package var books: [BookedPurchase] = []
    /// A purchase that waits for a parent's decision.
    package var pending: PendingOrder?
    /// A requested refund that is not decided.
    package var refund: AskedRefund?
    /// The customer's events, oldest first.
    package var events: [Event] = []
    /// The messages, the newest first.
    package var wire: [WireEntry] = []
    package var device = PhoneDevice()
    /// The group that the customer pays for. Nil if she has bought no seats.
    package var group: PhoneGroup?
    /// A member of the customer's family, in the form in which the server sends a customer to the
    /// app. Nil without a family.
    package var relative: Customer?
    /// The part of the response to the customer's app that the page shows, and the command that
    /// prints the whole response.
    package var json = ""
    package var curl = ""

    package init(
        customer: Customer, now: Timestamp, entitlement: String, products: [PhoneProduct]
    ) {
        self.customer = customer
        self.now = now
        self.entitlement = entitlement
        self.products = products
    }
}

/// The customer's choices on the phone, and what the phone shows at the moment.
package struct PhoneDevice: Hashable, Sendable {
    package var cardWorks = true
    package var asksParent = false
    package var sharesWithFamily = false
    /// Whether the app may report to Apple how purchases were used.
    package var allowsConsumption = false
    /// Whether the screen shows the choices about family and privacy instead of the app.
    package var showsChoices = false
    /// The product whose payment sheet is open.
    package var sheet: String?
    /// The number of people for the open sheet.
    package var seats = 1
    /// The maximum number of people that a sheet offers.
    package static let seatsMax = 12
    /// Whether the screen shows the group instead of the app.
    package var showsGroup = false
    /// The code of an unused invitation.
    package var invitation: String?
    /// The number of other devices on which the purchases were restored.
    package var restoredCount = 0
    /// Whether Apple has decided about a refund, in either way.
    package var hasRefundDecision = false
    /// Why the last action failed. Nil if the last action succeeded.
    package var trouble: String?

    package init() {}
}

/// One purchase in the simulated App Store's records, which the server cannot see.
package struct BookedPurchase: Hashable, Sendable {
    package var originalTransactionID: String
    package var productID: String
    /// The state in the simulator's records: `trial`, `offer`, `paid`, `grace`, `retry`, `expired`
    /// or `refunded`.
    package var state: String
    package var isOpen: Bool
    package var until: Timestamp?
    package var willRenew: Bool
    package var renewsTo: String?
    package var graceUntil: Timestamp?
    /// The end of the last paid period.
    package var paidUntil: Timestamp?
    package var isShared = false
    /// The newest transaction that was charged and not refunded.
    package var refundableID: String?
    /// How many people the purchase is paid for. Nil if the purchase was not bought in seats.
    package var seats: Int?

    package init(
        originalTransactionID: String, productID: String, state: String, isOpen: Bool,
        until: Timestamp? = nil, willRenew: Bool = false, renewsTo: String? = nil,
        graceUntil: Timestamp? = nil, paidUntil: Timestamp? = nil, refundableID: String? = nil
    ) {
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.state = state
        self.isOpen = isOpen
        self.until = until
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.graceUntil = graceUntil
        self.paidUntil = paidUntil
        self.refundableID = refundableID
    }
}

package struct PendingOrder: Hashable, Sendable {
    package var id: String
    package var productID: String

    package init(id: String, productID: String) {
        self.id = id
        self.productID = productID
    }
}

package struct AskedRefund: Hashable, Sendable {
    package var decidedAt: Timestamp

    package init(decidedAt: Timestamp) { self.decidedAt = decidedAt }
}

extension PhoneState {
    func product(_ id: String?) -> PhoneProduct? { products.first { $0.id == id } }

    /// The access that the page is about.
    var access: Entitlement? { customer.entitlements[entitlement] }

    /// The newest subscription in the simulator's records to one of the products on the phone.
    package var subscription: BookedPurchase? {
        let own = books.filter { !$0.isShared && product($0.productID)?.period != nil }
        return own.last { !$0.isOver } ?? own.last
    }
}

extension BookedPurchase {
    /// Whether nothing more happens automatically.
    package var isOver: Bool { state == "expired" || state == "refunded" }
    /// Whether a payment failed and is tried again.
    package var isRetried: Bool { state == "grace" || state == "retry" }
}
