import AppStoreFormats

/// Data specific to one device: its clock, its app, its owner's settings, and the messages and
/// intents that wait for the customer.
struct DeviceLife: Sendable {
    /// Maximum number of messages, and of purchase intents, that wait on one device.
    static let waitingMax = 100

    var clock = DeviceClock()
    var app = InstalledApp()
    /// Whether the device's restrictions allow purchases.
    var canMakePayments = true
    /// The calendar in the device's settings, by its identifier in Unicode CLDR.
    var calendar = Self.gregorian
    var habits: Set<DeviceHabit> = []
    /// The number of reads that are empty after each launch.
    var emptyReadsAtLaunch = 0
    /// The number of reads that are still empty after the current launch.
    var emptyReadsLeft = 0
    /// The result of the first read of the statuses after the launch.
    var firstStatuses: [SignedStatus]?
    /// Messages that a request added to the device. Other messages result from its subscriptions.
    var orderedMessages: [StoreMessage] = []
    var displayedMessages: Set<String> = []
    var intents: [PurchaseIntent] = []
    /// The number of messages and intents that were added so far.
    var arrivals = 0

    static let gregorian = "gregorian"

    /// Starts the app again.
    mutating func launch() {
        app.launchCount += 1
        emptyReadsLeft = emptyReadsAtLaunch
        firstStatuses = nil
    }

    /// Counts a read, and returns whether it is empty.
    mutating func consumeEmptyRead() -> Bool {
        guard emptyReadsLeft > 0 else { return false }
        emptyReadsLeft -= 1
        return true
    }
}

/// A deviation from StoreKit's documentation that one device has until it is switched off.
enum DeviceHabit: String, Hashable, Sendable, CaseIterable {
    case emptyEntitlementsInOtherCalendars = "empty_entitlements_in_other_calendars"
    case staleStatuses = "stale_statuses"
    case returnsFirstNonRenewing = "returns_first_non_renewing"
    case emptyProducts = "empty_products"
}

/// A purchase that begins outside the app, with a promoted product in the App Store.
struct PurchaseIntent: Hashable, Sendable {
    let id: String
    let productID: String
    let offerID: String?
}
