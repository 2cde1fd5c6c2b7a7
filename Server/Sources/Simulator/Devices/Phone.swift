import AppStoreFormats

/// The data of a simulated device other than its account: its network, its sheets, the errors that
/// were set, and the transactions and messages that it has announced to its app.
///
/// A phone is not part of the world, because purchases on other devices do not depend on it.
struct Phone: Sendable {
    var network = NetworkState.online
    /// Seconds of real time by which a slow network delays each call.
    var slowSeconds = NetworkState.slowSecondsDefault
    /// The last data of a device that does not reach the store; nil while it reaches the store.
    var cache: DeviceCache?
    /// The error of each call for which an error was set.
    var failures: [DeviceCall: StoreKitFailure] = [:]
    /// The verdict on every document, if a verdict was set.
    var verdict: DocumentVerdict?
    var sheets = SheetQueue()
    var prompts = PromptList()
    /// The ids of messages that the stream of updates has contained.
    var announcedMessages: Set<String> = []
    /// Transactions that the app on this device has finished.
    var finished: Set<String> = []
    /// The state in which each transaction was last announced on this device.
    var announced: [String: AnnouncedState] = [:]
}

/// The world as a device saw it when it lost the network.
struct DeviceCache: Sendable {
    let world: World
    let at: AppStoreDate
}

/// The part of a transaction whose change is announced to an app.
struct AnnouncedState: Hashable, Sendable {
    private let expires: AppStoreDate?
    private let revoked: AppStoreDate?
    private let revokedSeats: Int64?

    init(_ transaction: StoreTransaction) {
        expires = transaction.expires
        revoked = transaction.isUpgraded ? nil : transaction.revocation?.at
        let seats = transaction.ownership == .purchased ? transaction.seats?.revoked : nil
        revokedSeats = seats == 0 ? nil : seats
    }

    init(_ payload: TransactionPayload) {
        expires = payload.expiresDate
        revoked = payload.isUpgraded == true ? nil : payload.revocationDate
        revokedSeats = payload.multiSeatInfo?.revokedSeatQuantity
    }
}

extension AppStoreSimulator {
    /// The world as a device knows it: the present world or, without a network, the world when the
    /// device lost it.
    func known(on deviceID: String) -> World { phones[deviceID]?.cache?.world ?? world }

    /// Whether the app on a device has finished a transaction. By default, a finish on any device
    /// of the account counts.
    func isFinished(_ transactionID: String, on deviceID: String) -> Bool {
        if phones[deviceID]?.finished.contains(transactionID) == true { return true }
        guard !settings.has(.finishCountsPerDevice) else { return false }
        return known(on: deviceID).finished.contains(transactionID)
    }

    /// Records that a device's app has finished a transaction. Idempotent. Without a network, the
    /// account's other devices learn of it when the network is back.
    package func finish(_ transactionID: String, on deviceID: String) async throws {
        let isCut = phones[deviceID]?.cache != nil
        let (id, _) = try await perform { world, _ throws(SimulatorProblem) in
            let account = try world.device(deviceID).account
            let id = world.transactionIDs.canonicalID(of: transactionID)
            guard world.transactions(of: account).contains(where: { $0.id == id }) else {
                throw .unknownTransaction(transactionID)
            }
            if !isCut { world.finished.insert(id) }
            return (id, [])
        }
        phones[deviceID, default: Phone()].finished.insert(id)
    }

    /// The transactions that a device's app has not finished yet, oldest first.
    package func unfinished(on deviceID: String) throws -> [String] {
        let device = try world.device(deviceID)
        let all = known(on: deviceID).transactions(of: device.account).filter {
            !isFinished($0.id, on: deviceID)
        }
        return try show(all, as: .unfinished, on: device)
    }
}
