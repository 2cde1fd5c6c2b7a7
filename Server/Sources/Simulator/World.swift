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

    let settings: SimulatorSettings
    let calendar = StoreCalendar()
    private(set) var random: SplitMix64
    private var counter: Int64 = 0
    private var lastSigned: Int64 = .min
    var accounts: [Account.Key: Account] = [:]
    var devices: [String: Device] = [:]
    /// By original transaction id.
    private(set) var subscriptions: [String: Subscription] = [:]
    /// By transaction id: what is no subscription.
    var oneTimePurchases: [String: StoreTransaction] = [:]
    /// For each transaction of a subscription, the original one.
    var chainOfTransaction: [String: String] = [:]
    private var queue = DueQueue<String>()
    private let products: [String: StoreKitProduct]

    init(_ settings: SimulatorSettings) {
        self.settings = settings
        random = SplitMix64(seed: settings.seed)
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
        subscriptions[subscription.id] = subscription
        if let due = subscription.due(renewsEarlySeconds: settings.renewsEarlySeconds) {
            queue.add(subscription.id, due: due)
        }
    }

    /// When something will happen by itself next; may lie in the past.
    var nextDue: AppStoreDate? {
        mutating get {
            while let first = queue.first {
                let subscription = subscriptions[first.content]
                let due = subscription?.due(renewsEarlySeconds: settings.renewsEarlySeconds)
                if due == first.due { return due }
                // Left behind by a change of the chain.
                _ = queue.removeFirst()
            }
            return nil
        }
    }

    /// Lets the one thing happen that is due next. Nothing where nothing is due.
    mutating func settleNext(at now: AppStoreDate) -> [Notice] {
        guard let due = nextDue, due <= now, let id = queue.removeFirst(),
            let subscription = subscriptions[id]
        else { return [] }
        return settle(subscription, at: now)
    }
}

// MARK: - Numbers

extension World {
    // Blocks of a thousand million numbers, one for each seed: worlds of different seeds (below
    // 700,000) never share an id, so that a database that outlives a reset meets no old
    // acquaintance. All ids have 15 digits.
    private static let idsPerSeed: Int64 = 1_000_000_000
    private static let firstID: Int64 = 200_000_000_000_000
    private static let seedsMax: UInt64 = 700_000

    mutating func newID() -> String {
        counter += 1
        let block = Int64(settings.seed % Self.seedsMax)
        return String(Self.firstID + block * Self.idsPerSeed + counter)
    }

    mutating func newUUID() -> String { random.uuid() }

    /// The date for one signature: now, but later than every one before it, so that of two
    /// documents the later signed is the truer.
    mutating func signatureDate(at now: AppStoreDate) -> AppStoreDate {
        lastSigned = max(now.milliseconds, lastSigned &+ 1)
        return AppStoreDate(milliseconds: lastSigned)
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
        appAccountToken: String?, at now: AppStoreDate
    ) throws(StoreProblem) -> Device {
        guard devices.count < Self.devicesMax else { throw .full }
        let key = Account.Key(name: name, environment: environment)
        if accounts[key] == nil {
            accounts[key] = Account(key: key, appTransactionID: newID(), downloaded: now)
        }
        var number = 1
        while devices["\(name)-\(number)"] != nil { number += 1 }
        let device = Device(
            id: "\(name)-\(number)", account: key, storefront: storefront,
            appAccountToken: appAccountToken)
        devices[device.id] = device
        return device
    }
}
