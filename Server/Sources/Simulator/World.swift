import AppStoreFormats

/// A pretended App Store: who bought what, and what follows from it as time goes by.
///
/// It reads no clock, waits for nothing and sends nothing: every change is told the moment, and
/// returns what is to be notified. What happens, and when, is written from Apple's documentation,
/// and knows nothing of the server that it tests.
struct World: Sendable {
    /// Devices in one world.
    static let devicesMax = 100_000
    /// Transactions in one world.
    static let transactionsMax = 1_000_000

    /// What happens by itself.
    enum Event: Hashable, Sendable {
        /// A subscription moves; its place among the chains.
        case chain(Int)
        case refundDecision(transactionID: String)
        case consumptionReminder(transactionID: String)
        case massExtension(MassExtension.Key)
        /// A purchase whose family is to be given its part: before anything else happens.
        case sharing(purchase: String)
    }

    let sharedSettings: Shared<SimulatorSettings>
    let calendar = StoreCalendar()
    private(set) var random: SplitMix64
    private var counter: Int64 = 0
    private var lastSigned: [String: Int64] = [:]
    /// How often each row of the table was played; see ``LifecycleRow``.
    private(set) var rowsPlayed = [Int](repeating: 0, count: LifecycleRow.allCases.count + 1)
    var accounts: [Account.Key: Account] = [:]
    var devices: [String: Device] = [:]
    private(set) var subscriptions = Chains()
    /// By transaction id: what is no subscription.
    var oneTimePurchases: [String: StoreTransaction] = [:]
    /// For each transaction of a subscription, the original one.
    var chainOfTransaction: [String: String] = [:]
    /// For each id that a renewal was told under beside its own: its own.
    private var ownIDs: [String: String] = [:]
    var families: [Family.Key: Family] = [:]
    /// By what was bought: the chain's id, or that of a transaction of its own.
    var sharings: [String: Sharing] = [:]
    /// Purchases that wait for somebody, by the id that they wait under.
    var pendingPurchases: [String: PendingPurchase] = [:]
    /// Transactions that the app has finished.
    var finished: Set<String> = []
    /// Where the order that is being taken was made: its own answer tells it.
    var actingDevice: String?
    /// Of promotional offers: each signature counts once.
    var usedNonces: Set<String> = []
    /// By transaction id: what customers want their money back for.
    var refundRequests: [String: RefundRequest] = [:]
    /// What the app has said of purchases, in its order.
    var consumptionReceived: [ReceivedConsumption] = []
    var massExtensions: [MassExtension.Key: MassExtension] = [:]
    /// Products that nobody can buy, or renew, any more.
    private(set) var withdrawnProducts: Set<String> = []
    private var queue = DueQueue<Event>()
    private let products: [String: StoreKitProduct]
    let offersKey: OfferSignature.Key?

    /// - Parameter district: a world of the same seed that shares no id with the others.
    init(_ settings: SimulatorSettings, district: Int = 0) {
        sharedSettings = Shared(settings)
        random = SplitMix64(seed: settings.seed ^ UInt64(district) &* 0x9E6C_63D0_876A_3F35)
        counter = Int64(district) * Self.idsPerDistrict
        offersKey = settings.shop.offersKey.flatMap(OfferSignature.Key.init)
        products = Dictionary(
            settings.shop.products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func product(_ id: String) throws(StoreProblem) -> StoreKitProduct {
        guard let product = products[id] else {
            throw .unknownProduct(id, known: settings.shop.products.map(\.id))
        }
        return product
    }

    func subscription(_ id: String) throws(StoreProblem) -> Subscription {
        guard let subscription = subscriptions[id] else { throw .unknownSubscription(id) }
        return subscription
    }

    /// Keeps a chain as it now stands, and remembers when it will move by itself.
    mutating func keep(_ subscription: Subscription) {
        // What is not for sale is not charged, so not early either.
        let isForSale =
            withdrawnProducts.isEmpty
            || !withdrawnProducts.contains(subscription.upcomingProduct.value.id)
        let early = isForSale ? settings.renewsEarlySeconds : 0
        let due = subscription.due(renewsEarlySeconds: early)
        if isShared(subscription.latest) { shareSoon(subscription.id) }
        guard let place = subscriptions.keep(subscription, due: due), let due else { return }
        queue.add(.chain(place), due: due)
    }

    /// Keeps something bought once as it now stands.
    mutating func keep(_ transaction: StoreTransaction) {
        oneTimePurchases[transaction.id] = transaction
        if isShared(transaction) { shareSoon(transaction.id) }
    }

    mutating func shareSoon(_ purchase: String) {
        plan(.sharing(purchase: purchase), at: AppStoreDate(milliseconds: .min))
    }

    /// Lets something happen at a moment.
    mutating func plan(_ event: Event, at due: AppStoreDate) { queue.add(event, due: due) }

    /// Takes a product from sale. Harmless to repeat.
    mutating func withdraw(_ productID: String) {
        withdrawnProducts.insert(productID)
        for chain in Array(subscriptions.all) where chain.upcomingProduct.value.id == productID {
            keep(chain)
        }
    }

    /// When something will happen by itself next; may lie in the past.
    var nextDue: AppStoreDate? {
        mutating get {
            while let first = queue.first {
                if isPlanned(first.content, at: first.due) { return first.due }
                // Left behind by a change.
                _ = queue.removeFirst()
            }
            return nil
        }
    }

    private func isPlanned(_ event: Event, at due: AppStoreDate) -> Bool {
        switch event {
        case .chain(let place): subscriptions.due(at: place) == due
        case .refundDecision(let id): refundRequests[id]?.decides == due
        case .consumptionReminder(let id): refundRequests[id]?.asksAgain == due
        case .massExtension(let key): massExtensions[key]?.completed == nil
        case .sharing: true
        }
    }

    /// Lets the one thing happen that is due next. Nothing where nothing is due.
    mutating func settleNext(at now: AppStoreDate) -> [Notice] {
        guard let due = nextDue, due <= now, let event = queue.removeFirst() else { return [] }
        switch event {
        case .chain(let place):
            guard var subscription = subscriptions.take(at: place) else { return [] }
            let notices = settle(&subscription, at: now)
            keep(subscription)
            return notices
        case .refundDecision(let id): return decideRefund(of: id, at: now)
        case .consumptionReminder(let id): return askAgain(id, at: now)
        case .massExtension(let key): return finishMassExtension(key, at: now)
        case .sharing(let purchase): return share(purchase, at: now)
        }
    }

    var settings: SimulatorSettings { sharedSettings.value }

    mutating func mark(_ row: LifecycleRow?) {
        if let row { rowsPlayed[row.rawValue] += 1 }
    }
}

// MARK: - Numbers

extension World {
    // Blocks of a thousand million numbers, one for each seed: worlds of different seeds (below
    // 700,000) never share an id, so that a database that outlives a reset meets no old
    // acquaintance. All ids have 15 digits.
    private static let idsPerSeed: Int64 = 1_000_000_000
    private static let idsPerDistrict: Int64 = 1_000_000
    private static let firstID: Int64 = 200_000_000_000_000
    private static let seedsMax: UInt64 = 700_000

    mutating func newID() -> String {
        counter += 1
        let block = Int64(settings.seed % Self.seedsMax)
        return String(Self.firstID + block * Self.idsPerSeed + counter)
    }

    mutating func newUUID() -> String { random.uuid() }

    /// Notes that a transaction of a subscription was told under another id. Who asks by that means
    /// the same purchase.
    mutating func retell(_ id: String, as other: String) {
        let own = ownID(of: id)
        ownIDs[other] = own
        chainOfTransaction[other] = chainOfTransaction[own]
    }

    /// The id that a transaction is kept under, also where it was told under another.
    func ownID(of id: String) -> String { ownIDs[id] ?? id }

    /// The first of so many dates, a millisecond apart, for documents about one purchase: now, but
    /// later than all before, so that of two documents the later signed is the truer.
    mutating func signatureDate(
        of originalTransactionID: String, count: Int64 = 1, at now: AppStoreDate
    ) -> AppStoreDate {
        func next(after last: inout Int64) -> Int64 {
            let first = max(now.milliseconds, last &+ 1)
            last = first + count - 1
            return first
        }
        return AppStoreDate(
            milliseconds: next(after: &lastSigned[originalTransactionID, default: .min]))
    }
}

// MARK: - Accounts and devices

extension World {
    func device(_ id: String) throws(StoreProblem) -> Device {
        guard let device = devices[id] else {
            throw .unknownDevice(id, known: devices.keys.sorted())
        }
        return device
    }

    /// A further device of an account, which is made with its first: `anna-1`, then `anna-2`.
    mutating func addDevice(
        account name: String, environment: SimulatedEnvironment, storefront: Storefront,
        appAccountToken: String?, pace: Pace? = nil, family: String? = nil,
        at now: AppStoreDate
    ) throws(StoreProblem) -> Device {
        guard devices.count < Self.devicesMax else { throw .full }
        let key = Account.Key(name: name, environment: environment)
        try open(key, family: family, at: now)
        var number = 1
        while devices["\(name)-\(number)"] != nil { number += 1 }
        let device = Device(
            id: "\(name)-\(number)", account: key, storefront: storefront,
            appAccountToken: appAccountToken, pace: pace ?? settings.pace(in: environment))
        devices[device.id] = device
        return device
    }

    /// Signs another account in on a device; it is made where it is new.
    mutating func signIn(
        _ name: String, on deviceID: String, storefront: Storefront?, at now: AppStoreDate
    ) throws(StoreProblem) -> Device {
        var device = try device(deviceID)
        guard accounts.count < Self.devicesMax else { throw .full }
        device.account = Account.Key(name: name, environment: device.account.environment)
        device.storefront = storefront ?? device.storefront
        try open(device.account, family: nil, at: now)
        devices[deviceID] = device
        return device
    }

    private mutating func open(
        _ key: Account.Key, family: String?, at now: AppStoreDate
    ) throws(StoreProblem) {
        if accounts[key] == nil {
            accounts[key] = Account(key: key, appTransactionID: newID(), downloaded: now)
        }
        if let family = family ?? settings.rules.family(of: key.name) { try join(family, key) }
    }
}
