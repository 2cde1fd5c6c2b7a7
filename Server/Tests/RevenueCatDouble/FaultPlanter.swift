import AppStoreFormats
import Simulator

/// Chooses customers for faults by a seed, so that each fault can be seen: with the fault, the
/// double's answer about the customer differs from the one without.
struct FaultPlanter {
    /// The maximum number of a purchase's last notifications that are left out to make a
    /// difference.
    private static let noticesMax = 8
    /// How long late notifications wait, in milliseconds.
    private static let lateness: ClosedRange<Int> = 3_600_000...259_200_000
    private static let grantDays: Int64 = 30
    private static let day: Int64 = 86_400_000

    /// The order in which faults are planted: kinds that suit few customers come first, so that
    /// other kinds do not take these customers.
    static let rarestFirst: [PlantedFault.Kind] = [
        .sandboxMistaken, .graceIgnored, .familyMistaken, .refundIgnored, .lostAlias,
        .wrongProduct, .late, .lost, .wrongGrant,
    ]

    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Plants up to `count` faults of one kind. A customer gets at most one fault.
    mutating func plant(_ kind: PlantedFault.Kind, _ count: Int, in books: inout Books) {
        var left = count
        for place in books.customers.indices.shuffled(using: &random) where left > 0 {
            guard !books.customers[place].isMerged, !books.hasFault(at: place),
                let fault = visibleFault(kind, at: place, in: books)
            else { continue }
            books.plant(fault, at: place)
            left -= 1
        }
    }

    /// A fault that changes the answer about a customer. Nil if none of the kind does.
    private mutating func visibleFault(
        _ kind: PlantedFault.Kind, at place: Int, in books: Books
    ) -> PlantedFault? {
        let truth = books.opinion(at: place, under: []).summary
        let faults = candidates(kind, at: place, in: books, truth)
        guard kind != .lostAlias else { return faults.first }
        return faults.first { fault in
            let shown = books.opinion(at: place, under: [fault]).summary
            return Self.isVisible(kind, shown, truth)
        }
    }

    /// Late and lost notifications, and wrong products, must change what the customer may use. For
    /// the other kinds a difference in a purchase is enough.
    private static func isVisible(
        _ kind: PlantedFault.Kind, _ shown: Opinion.Summary, _ truth: Opinion.Summary
    ) -> Bool {
        switch kind {
        case .late, .lost, .wrongGrant, .graceIgnored: shown.entitlements != truth.entitlements
        case .lostAlias, .refundIgnored, .familyMistaken, .sandboxMistaken, .wrongProduct:
            shown != truth
        }
    }

    private mutating func candidates(
        _ kind: PlantedFault.Kind, at place: Int, in books: Books, _ truth: Opinion.Summary
    ) -> [PlantedFault] {
        let customer = books.customers[place]
        switch kind {
        case .late, .lost:
            return customer.purchases.flatMap { held(kind, $0, of: customer, in: books) }
        case .wrongGrant: return grants(to: customer, in: books, truth)
        case .lostAlias:
            guard customer.aliases.count > 1, !truth.purchases.isEmpty else { return [] }
            var fault = PlantedFault(kind, of: customer)
            fault.alias = customer.newestID
            return [fault]
        case .wrongProduct:
            return customer.purchases.flatMap { wrongProducts($0, of: customer, in: books) }
        case .refundIgnored, .familyMistaken, .sandboxMistaken, .graceIgnored:
            return customer.purchases.map { PlantedFault(kind, of: customer, purchase: $0) }
        }
    }

    /// Leaves out the last notification, or the last two, and so on. One is always left.
    private mutating func held(
        _ kind: PlantedFault.Kind, _ purchase: String, of customer: KnownCustomer, in books: Books
    ) -> [PlantedFault] {
        let until = AppStoreDate(
            milliseconds: books.now.milliseconds + Int64(random.number(in: Self.lateness)))
        return books.notices(of: purchase).dropFirst().suffix(Self.noticesMax).reversed().map {
            var fault = PlantedFault(kind, of: customer, purchase: purchase)
            fault.from = $0.signed
            fault.until = kind == .late ? until : nil
            return fault
        }
    }

    private mutating func grants(
        to customer: KnownCustomer, in books: Books, _ truth: Opinion.Summary
    ) -> [PlantedFault] {
        let names = books.project.entitlements.map(\.lookupKey)
        let closed = names.filter { name in
            !truth.entitlements.contains { $0.hasPrefix(name + " until ") }
        }
        guard let name = random.pick(closed) else { return [] }
        var fault = PlantedFault(.wrongGrant, of: customer)
        fault.entitlement = name
        let now = books.now.milliseconds
        fault.grant = PromotionalGrant(
            lookupKey: name, begins: AppStoreDate(milliseconds: now - Self.day),
            ends: AppStoreDate(milliseconds: now + Self.grantDays * Self.day), duration: "monthly")
        return [fault]
    }

    private mutating func wrongProducts(
        _ purchase: String, of customer: KnownCustomer, in books: Books
    ) -> [PlantedFault] {
        let own = books.notices(of: purchase).last?.transaction
        let others = books.project.products.filter {
            $0.type == own?.type && $0.storeIdentifier != own?.productID
        }
        guard let other = random.pick(others) else { return [] }
        var fault = PlantedFault(.wrongProduct, of: customer, purchase: purchase)
        fault.product = other.storeIdentifier
        return [fault]
    }
}
