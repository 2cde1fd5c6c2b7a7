import PerennialContract

@testable import Dashboard

/// A customer's life on the phone, as the server's events and the App Store's books describe it.
struct PhoneLife {
    static let start = moment("2026-09-24T09:00:00Z")

    var state: PhoneState

    init() {
        state = PhoneState(
            customer: Customer(customerID: "anna", environment: .production, asOf: Self.start),
            now: Self.start, entitlement: "pro", products: Self.shop)
    }

    static let shop = [
        PhoneProduct(
            id: "pro.monthly", name: "Birds Pro, monthly", milliunits: 9990, currency: "USD",
            period: PhonePeriod(1, .month)),
        PhoneProduct(
            id: "pro.yearly", name: "Birds Pro, yearly", milliunits: 59990, currency: "USD",
            period: PhonePeriod(1, .year), isFamilyShareable: true,
            freeTrial: PhonePeriod(1, .week)),
        PhoneProduct(
            id: "seeds.100", name: "100 seeds", milliunits: 1990, currency: "USD",
            isConsumable: true, wallet: "seeds"),
        PhoneProduct(
            id: "guide", name: "Field guide", milliunits: 24990, currency: "USD",
            isFamilyShareable: true),
    ]

    static func moment(_ text: String) -> Timestamp {
        guard let moment = Timestamp(text) else { preconditionFailure("\(text) is no time.") }
        return moment
    }

    /// An event of the monthly subscription.
    mutating func add(
        _ type: EventType, _ at: String, _ accessState: AccessState, until: String? = nil,
        money: String? = nil, why: String? = nil
    ) {
        let isOpen = [.paid, .trial, .grace].contains(accessState)
        let before = state.events.last?.after
        let after = PurchaseCondition(
            productID: "pro.monthly", active: isOpen, state: accessState,
            until: isOpen ? until.map(Self.moment) : nil, willRenew: isOpen)
        let number = Int64(state.events.count + 1)
        state.events.append(
            Event(
                id: "evt_\(number)", sequence: number, type: type, at: Self.moment(at),
                knownAt: Self.moment(at), customerID: "anna", purchaseID: "production:1",
                originalTransactionID: "1", productID: "pro.monthly", before: before,
                after: after, money: money.map { Money(amount: $0, currency: "USD") }, why: why,
                cause: .init(kind: "document")))
        state.now = Self.moment(at)
        set(accessState, until: until)
    }

    /// The server's answer about `pro`, and the state in the App Store's books.
    mutating func set(_ accessState: AccessState, until: String?, willRenew: Bool = true) {
        let isOpen = [.paid, .trial, .grace].contains(accessState)
        let end = until.map(Self.moment)
        state.customer.entitlements["pro"] = Entitlement(
            active: isOpen, until: end, state: accessState, reason: "", willRenew: willRenew,
            productID: "pro.monthly", purchaseID: "production:1")
        state.customer.subscriptions = [
            Subscription(
                purchaseID: "production:1", productID: "pro.monthly", originalTransactionID: "1",
                state: accessState, period: .init(from: Self.start, until: end),
                willRenew: willRenew, renewsTo: willRenew ? "pro.monthly" : nil, graceUntil: nil,
                price: Money(amount: "9.99", currency: "USD"), ownership: .purchased,
                environment: .production)
        ]
        state.books = [
            BookedPurchase(
                originalTransactionID: "1", productID: "pro.monthly", state: accessState.rawValue,
                isOpen: isOpen, until: end, willRenew: willRenew, renewsTo: "pro.monthly",
                graceUntil: accessState == .grace ? end : nil, paidUntil: end, refundableID: "1")
        ]
    }

    /// Anna pays for two months; then her card fails.
    static var inGrace: PhoneLife {
        var life = PhoneLife()
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        life.add(
            .renewed, "2026-10-24T09:00:00Z", .paid, until: "2026-11-24T09:00:00Z", money: "9.99")
        life.add(.billingFailed, "2026-11-24T09:00:00Z", .grace, until: "2026-12-10T09:00:00Z")
        return life
    }

    func piece(_ id: String) -> String {
        PhonePiece.all(of: state).first { $0.id == id }?.html ?? ""
    }
}
