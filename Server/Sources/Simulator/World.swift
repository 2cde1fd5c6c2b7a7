import AppStoreFormats

/// A simulated App Store: who bought what, and what follows from it as time passes.
///
/// The world reads no clock, waits for nothing and sends nothing: every change receives the current
/// moment and returns the notifications to send. The rules of what happens, and when, are written
/// from Apple's documentation, independently of the server under test.
struct World: Sendable {
    /// Maximum number of devices in one world.
    static let devicesMax = 100_000
    /// Maximum number of transactions in one world.
    static let transactionsMax = 1_000_000

    /// Something that happens as time passes, without a request.
    enum Event: Hashable, Sendable {
        /// A subscription is due. The number is its index among the chains.
        case chain(Int)
        case refundDecision(transactionID: String)
        case consumptionReminder(transactionID: String)
        case massExtension(MassExtension.Key)
        /// A purchase must be shared with the family. This event is processed before all others.
        case sharing(purchase: String)
    }

    let boxedSettings: Box<SimulatorSettings>
    let calendar = StoreCalendar()
    var numbers: WorldNumbers
    var signingDates = SigningDates()
    /// How many times each row of the lifecycle table occurred; see ``LifecycleRow``.
    private(set) var rowCounts = [Int](repeating: 0, count: LifecycleRow.allCases.count + 1)
    var accounts: [Account.Key: Account] = [:]
    var devices: [String: Device] = [:]
    private(set) var subscriptions = SubscriptionChains()
    /// One-time purchases by transaction id.
    var oneTimePurchases: [String: StoreTransaction] = [:]
    var transactionIDs = TransactionIDs()
    var families: [Family.Key: Family] = [:]
    /// Family Sharing of purchases, by the id of the chain or of the one-time transaction.
    var sharings: [String: Sharing] = [:]
    /// Purchases that wait for a decision, by their pending id.
    var pendingPurchases: [String: PendingPurchase] = [:]
    /// Transactions that the app has finished.
    var finished: Set<String> = []
    /// The device on which the current order is placed. This device gets the result in the
    /// response, so it needs no event.
    var orderingDevice: String?
    /// Whether the current order is placed in one of Apple's views.
    var orderIsInView = false
    /// Nonces of promotional offer signatures; each signature can be used once.
    var usedNonces: Set<String> = []
    /// The transactions that restores made of one-time purchases, by original transaction id.
    var restores: [String: RestoredTransactions] = [:]
    /// Refunds that were reversed, by transaction id, oldest first.
    var reversedRefunds: [String: [ReversedRefund]] = [:]
    /// Open refund requests, by transaction id.
    var refundRequests: [String: RefundRequest] = [:]
    /// The app's consumption responses in order of arrival.
    var consumptionReceived: [ReceivedConsumption] = []
    var massExtensions: [MassExtension.Key: MassExtension] = [:]
    /// Products that can no longer be bought or renewed.
    private(set) var withdrawnProducts: Set<String> = []
    private var queue = DueQueue<Event>()
    private let products: [String: StoreKitProduct]
    let offersKey: OfferSignature.Key?
    /// Data specific to a device, by device id. A device without such data is absent.
    var lives: [String: DeviceLife] = [:]
    /// The version of the app that an account obtained first, if it was set.
    var originalVersions: [Account.Key: String] = [:]
    /// Names of accounts whose purchases belong to other apps, or were made in Xcode.
    var unreportedAccounts: Set<String> = []
    /// Products for which no more seats are sold.
    var productsWithoutSeats: Set<String> = []
    /// Ids of the subscriptions for which an app's server has claimed seats.
    var chainsWithClaims: Set<String> = []
    /// Whether Apple or the app's server invites the members of groups that begin now.
    var seatInvitations: SeatInvitations

    /// - Parameter district: distinguishes worlds of the same seed, so that they share no ids.
    init(_ settings: SimulatorSettings, district: Int = 0) {
        boxedSettings = Box(settings)
        numbers = WorldNumbers(seed: settings.seed, district: district)
        seatInvitations = settings.rules.seatInvitations
        offersKey = settings.shop.offersKey.flatMap(OfferSignature.Key.init)
        products = Dictionary(
            settings.shop.products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func product(_ id: String) throws(SimulatorProblem) -> StoreKitProduct {
        guard let product = products[id] else {
            throw .unknownProduct(id, known: settings.shop.products.map(\.id))
        }
        return product
    }

    func subscription(_ id: String) throws(SimulatorProblem) -> Subscription {
        guard let subscription = subscriptions[id] else { throw .unknownSubscription(id) }
        return subscription
    }

    /// Saves a chain whose phase or renewal may have changed, and schedules its next event.
    mutating func save(_ subscription: Subscription, at now: AppStoreDate) {
        var subscription = subscription
        subscription.recordStep(at: now)
        save(subscription)
    }

    /// Saves a chain without a change of its phase or renewal, and schedules its next event.
    mutating func save(_ subscription: Subscription) {
        // A withdrawn product is not renewed, so it is not charged early.
        let isForSale =
            withdrawnProducts.isEmpty
            || !withdrawnProducts.contains(subscription.upcomingProduct.value.id)
        let early = isForSale ? settings.renewsEarlySeconds : 0
        let due = subscription.due(renewsEarlySeconds: early)
        if isShared(subscription.latest) { scheduleSharing(subscription.id) }
        guard let place = subscriptions.save(subscription, due: due), let due else { return }
        queue.add(.chain(place), due: due)
    }

    /// Saves a one-time purchase.
    mutating func save(_ transaction: StoreTransaction) {
        oneTimePurchases[transaction.id] = transaction
        if isShared(transaction) { scheduleSharing(transaction.id) }
    }

    mutating func scheduleSharing(_ purchase: String) {
        schedule(.sharing(purchase: purchase), at: AppStoreDate(milliseconds: .min))
    }

    /// Schedules an event.
    mutating func schedule(_ event: Event, at due: AppStoreDate) { queue.add(event, due: due) }

    /// Withdraws a product from sale. Idempotent.
    mutating func withdraw(_ productID: String) {
        withdrawnProducts.insert(productID)
        for chain in Array(subscriptions.all) where chain.upcomingProduct.value.id == productID {
            save(chain)
        }
    }

    /// When the next event is due. May be in the past.
    var nextDue: AppStoreDate? {
        mutating get {
            while let first = queue.first {
                if isScheduled(first.content, at: first.due) { return first.due }
                // A later change has made this entry outdated.
                _ = queue.removeFirst()
            }
            return nil
        }
    }

    private func isScheduled(_ event: Event, at due: AppStoreDate) -> Bool {
        switch event {
        case .chain(let place): subscriptions.due(at: place) == due
        case .refundDecision(let id): refundRequests[id]?.decisionDue == due
        case .consumptionReminder(let id): refundRequests[id]?.reminderDue == due
        case .massExtension(let key): massExtensions[key]?.completed == nil
        case .sharing: true
        }
    }

    /// Processes the next event that is due. Does nothing if none is due.
    mutating func processNext(at now: AppStoreDate) -> [NotificationDraft] {
        guard let due = nextDue, due <= now, let event = queue.removeFirst() else { return [] }
        switch event {
        case .chain(let place):
            guard var subscription = subscriptions.remove(at: place) else { return [] }
            let notices = processDue(&subscription, at: now)
            save(subscription, at: now)
            return notices
        case .refundDecision(let id): return decideRefund(of: id, at: now)
        case .consumptionReminder(let id): return repeatConsumptionRequest(id, at: now)
        case .massExtension(let key): return finishMassExtension(key, at: now)
        case .sharing(let purchase): return share(purchase, at: now)
        }
    }

    var settings: SimulatorSettings { boxedSettings.value }

    mutating func countRow(_ row: LifecycleRow?) {
        if let row { rowCounts[row.rawValue] += 1 }
    }
}

// MARK: - Accounts and devices

extension World {
    func device(_ id: String) throws(SimulatorProblem) -> Device {
        guard let device = devices[id] else {
            throw .unknownDevice(id, known: devices.keys.sorted())
        }
        return device
    }

    /// Adds a device to an account, which is created with its first device: `anna-1`, then
    /// `anna-2`.
    mutating func addDevice(
        account name: String, environment: SimulatedEnvironment, storefront: Storefront,
        appAccountToken: String?, pace: Pace? = nil, family: String? = nil,
        at now: AppStoreDate
    ) throws(SimulatorProblem) -> Device {
        guard devices.count < Self.devicesMax else { throw .full }
        let key = Account.Key(name: name, environment: environment)
        try ensureAccount(key, family: family, at: now)
        var number = 1
        while devices["\(name)-\(number)"] != nil { number += 1 }
        let device = Device(
            id: "\(name)-\(number)", account: key, storefront: storefront,
            appAccountToken: appAccountToken, joined: numbers.lastID,
            pace: pace ?? settings.pace(in: environment))
        devices[device.id] = device
        return device
    }

    /// Signs another account in on a device. Creates the account if it is new.
    mutating func signIn(
        _ name: String, on deviceID: String, storefront: Storefront?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> Device {
        var device = try device(deviceID)
        guard accounts.count < Self.devicesMax else { throw .full }
        device.account = Account.Key(name: name, environment: device.account.environment)
        device.storefront = storefront ?? device.storefront
        device.joined = numbers.lastID
        try ensureAccount(device.account, family: nil, at: now)
        devices[deviceID] = device
        return device
    }

    /// Moves all devices of an account to another storefront. Subscriptions renew in the storefront
    /// in which they were bought.
    mutating func move(_ account: Account.Key, to storefront: Storefront) {
        for id in devices.keys.filter({ devices[$0]?.account == account }) {
            devices[id]?.storefront = storefront
        }
    }

    private mutating func ensureAccount(
        _ key: Account.Key, family: String?, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        if accounts[key] == nil {
            accounts[key] = Account(key: key, appTransactionID: numbers.newID(), downloaded: now)
        }
        if let family = family ?? settings.rules.family(of: key.name) { try join(family, key) }
    }
}
