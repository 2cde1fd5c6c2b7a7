import AppStoreFormats
import Dashboard
import Foundation
import PerennialContract

// Reads everything that the page shows, from the simulator's routes and from the server's API.

extension PhoneBackend {
    /// The number of hours from the request for a refund to Apple's decision.
    static let refundHours: Int64 = 48
    /// The maximum number of events that are read at once.
    private static let eventsMax = 500

    /// Switches the phone on. Chooses the first person of the cast who has purchases in this world
    /// or is unknown to the server. Skips people whom the server knows only from an earlier world.
    func switchOn() async throws {
        guard phone == nil else { return }
        for name in Self.people {
            let (isBooked, isKnown) = try await (hasPurchases(name), isKnown(name))
            guard isBooked || !isKnown else { continue }
            customer = name
            phone = try await addDevice(of: name)
            return
        }
        throw Refusal(sentence: "All people of the cast have been used. Start with --fresh.")
    }

    /// The names of the cast, and then names with numbers.
    static var people: [String] { cast + (2...peopleMax).map { "\(cast[0])-\($0)" } }

    func addDevice(of account: String) async throws -> String {
        let answer = try await settings.simulator.post(
            "/_sim/devices", ["account": .string(account)])
        guard let id = answer.json["device_id"]?.string else {
            throw Refusal(sentence: answer.complaint)
        }
        return id
    }

    /// Whether the simulated App Store has purchases of the account.
    func hasPurchases(_ account: String) async throws -> Bool {
        let books = try await settings.simulator.get("/_sim/truth/\(account)").json
        return books["purchases"]?.array?.isEmpty == false
    }

    /// Whether the server knows a purchase of the customer.
    func isKnown(_ name: String) async throws -> Bool {
        let answer = try await settings.app.get(Paths.customer(name))
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        let customer = try Self.customer(answer)
        return !customer.entitlements.isEmpty || !customer.wallets.isEmpty
            || !customer.purchases.isEmpty
    }

    static func customer(_ answer: LoopbackClient.Answer) throws -> Customer {
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        return try JSONDecoder().decode(Customer.self, from: Data(answer.body))
    }

    // MARK: - The state

    func read() async throws -> PhoneState {
        let path = Paths.customer(customer) + "?pretty"
        async let books = settings.simulator.get("/_sim/truth/\(customer)")
        async let products = settings.simulator.get("/_sim/products?device=\(phone ?? "")")
        async let tiers = seatTiers()
        async let sent = settings.simulator.get(
            "/_sim/notifications?account=\(customer),\(Self.other)")
        async let answer = settings.app.get(path)
        guard try await books.status != 404 else { throw NewWorld() }
        let (truth, shop, notifications, body) = try await (
            books.json, products.json, sent.json, answer
        )
        _ = try await readNewEvents()
        let now = truth["now"]?.string.flatMap { Timestamp($0) }
        let sold = self.products(in: shop, try await tiers)
        var state = PhoneState(
            customer: try Self.customer(body), now: now ?? Timestamp(milliseconds: 0),
            entitlement: entitlement(of: sold), products: sold)
        state.books = (truth["purchases"]?.array ?? []).compactMap(BookedPurchase.init)
        state.pending = (truth["pending"]?.array ?? []).first.flatMap(PendingOrder.init)
        state.group = try await group(of: state.subscription)
        try await readRelative(into: &state)
        follow(notifications["notifications"]?.array ?? [], at: state.now)
        state.refund = refund
        state.events = events
        state.wire = wire
        state.device = device
        state.json = Self.excerpt(of: body.json)
        state.curl = curl(path)
        return state
    }

    private func readRelative(into state: inout PhoneState) async throws {
        guard device.sharesWithFamily else { return }
        state.relative = try Self.customer(
            try await settings.app.get(Paths.customer(Self.other)))
    }

    private static let shownMembers: Set = ["customer_id", "as_of", "entitlements", "wallets"]

    /// The members of the server's answer about a customer that the page shows, unchanged.
    private static func excerpt(of customer: JSON) -> String {
        let members = (customer.members ?? []).filter { shownMembers.contains($0.key) }
        return String(decoding: JSON.object(members).bytes(isIndented: true), as: UTF8.self)
    }

    private func curl(_ path: String) -> String {
        let url = settings.app.url.replacing("http://127.0.0.1", with: "http://localhost")
        return "curl -s '\(url)\(path)' -H 'Authorization: Bearer \(settings.app.key ?? "")'"
    }

    /// Reads the new events. Returns whether there are new events.
    func readNewEvents() async throws -> Bool {
        let before = events.count
        while true {
            let after = Paths.percentEncoded(eventCursor ?? "")
            let answer = try await settings.secret.get(
                "\(Paths.events)?customer_id=\(Paths.percentEncoded(customer))&after=\(after)"
                    + "&limit=\(Self.eventsMax)")
            guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
            let page = try JSONDecoder().decode(EventList.self, from: Data(answer.body))
            events += page.items
            eventCursor = page.nextCursor
            if page.items.count < Self.eventsMax { return events.count > before }
        }
    }

    // MARK: - The shop

    /// The subscriptions that give one entitlement, shortest period first, and the one-time
    /// products. Leaves out products that do not renew but end, because the page cannot show their
    /// state.
    private func products(
        in shop: JSON, _ tiers: [String: [PhoneProduct.SeatTier]]
    ) -> [PhoneProduct] {
        let all = (shop["products"]?.array ?? []).compactMap { json -> PhoneProduct? in
            guard var product = PhoneProduct(json, currencies: settings.currencies) else {
                return nil
            }
            product.seatTiers = tiers[product.id] ?? []
            return product
        }
        let plans = all.filter { $0.period != nil }
        let chief = plans.first.flatMap { settings.chiefEntitlement(of: $0.id) }
        let own = plans.filter { chief == nil || settings.chiefEntitlement(of: $0.id) == chief }
        let once = all.filter { $0.period == nil }
        return Array(own.prefix(Self.plansMax))
            + Array(once.filter(\.isConsumable).prefix(Self.onceMax))
            + Array(once.filter { !$0.isConsumable }.prefix(Self.onceMax))
    }

    /// The maximum numbers of subscriptions and of one-time products on the phone.
    private static let (plansMax, onceMax) = (4, 2)

    private func entitlement(of products: [PhoneProduct]) -> String {
        products.lazy.compactMap { self.settings.chiefEntitlement(of: $0.id) }.first ?? "access"
    }
}

// MARK: - The simulator's answers as values

extension BookedPurchase {
    fileprivate init?(_ json: JSON) {
        guard let original = json["original_transaction_id"]?.string,
            let product = json["product_id"]?.string, let state = json["state"]?.string
        else { return nil }
        func moment(_ json: JSON?) -> Timestamp? { json?.string.flatMap { Timestamp($0) } }
        let charges = json["charges"]?.array ?? []
        let refundable = charges.last { $0["refunded_milliunits"]?.integer == 0 }
        self.init(
            originalTransactionID: original, productID: product, state: state,
            isOpen: json["open"]?.bool == true, until: moment(json["until"]),
            willRenew: json["will_renew"]?.bool == true, renewsTo: json["renews_to"]?.string,
            graceUntil: moment(json["grace_until"]), paidUntil: moment(json["period"]?["until"]),
            refundableID: refundable?["transaction_id"]?.string)
        isShared = json["ownership"]?.string == "FAMILY_SHARED"
        seats = json["seats"]?["count"]?.integer.map { Int(clamping: $0) }
    }
}

extension PendingOrder {
    fileprivate init?(_ json: JSON) {
        guard let id = json["id"]?.string, let product = json["product_id"]?.string else {
            return nil
        }
        self.init(id: id, productID: product)
    }
}

extension PhoneProduct {
    /// Returns nil for a product that does not renew but still ends.
    fileprivate init?(_ json: JSON, currencies: [String: String]) {
        guard let id = json["product_id"]?.string, let price = json["price_milliunits"]?.integer,
            let currency = json["currency"]?.string, let type = json["type"]?.string,
            type != ProductType.nonRenewing.rawValue
        else { return nil }
        let terms = json["subscription"]
        let offer = terms?["introductory_offer"]
        let trial =
            offer?["eligible"]?.bool == true && offer?["price_milliunits"]?.integer == 0
            ? offer?["period"]?.string.flatMap { PhonePeriod(iso: $0) } : nil
        self.init(
            id: id, name: json["display_name"]?.string ?? id, milliunits: price,
            currency: currency, period: terms?["period"]?.string.flatMap { PhonePeriod(iso: $0) },
            isConsumable: type == ProductType.consumable.rawValue,
            isFamilyShareable: json["family_shareable"]?.bool == true, freeTrial: trial,
            wallet: currencies[id])
    }
}
