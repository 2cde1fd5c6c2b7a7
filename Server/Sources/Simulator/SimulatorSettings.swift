import AppStoreFormats
import Foundation

/// The initial settings of a simulated world. If Apple's documentation is silent or allows several
/// behaviours, there is a switch here.
package struct SimulatorSettings: Sendable {
    /// The seed of everything random: the same seed gives the same history.
    package var seed: UInt64
    package var now: AppStoreDate
    package var shop: StoreKitFile
    package var bundleID: String
    package var appAppleID: Int64
    /// Where notifications are posted. If nil, they are stored without being sent.
    package var notificationURL: String?
    /// The rules for purchases: the settings of the shop's file, and others that a file cannot
    /// express.
    package var rules = ShopRules()
    /// Days of billing grace period; 0 switches it off. Apple offers 3, 16 and 28, and gives weekly
    /// subscriptions at most 6.
    package var graceDays = 16
    /// Whether a grace period is given only if the last period was paid for, so not after a free
    /// trial.
    package var graceForPaidOnly = false
    /// How many seconds before a period's end its renewal is charged. The new period still begins
    /// when the old one ends.
    package var renewsEarlySeconds: Int64 = 0
    /// Whether a 400 response ends the delivery attempts of a notification, as developers have
    /// observed since March 2026.
    package var stopsRetryingAt400 = true
    /// Whether an upgraded transaction carries the date of its prorated refund.
    package var upgradeSetsRevocationDate = true

    /// Keys that may call the App Store Server API.
    package var apiKeys = [APIKey.wellKnown]
    /// The clock by which the API's rate limits are enforced, or `off`.
    package var apiRateLimits = RateLimits.Time.off
    /// Certificates that the OCSP responder reports as revoked.
    package var revokedCertificates: Set<RevocationResponder.Subject> = []

    /// Whether signatures are also derived from the seed, so that two runs produce the same bytes.
    package var isDeterministic = false

    /// Whether random customers act at whole seconds only, which is the precision of receipts.
    package var actsOnWholeSeconds = false
    /// The deviations from Apple's documentation that are switched on.
    package var quirks: Set<Quirk> = []
    /// How fast sandbox subscriptions renew, unless a device sets its own pace.
    package var sandboxPace = Pace.monthly(.fiveMinutes)
    /// Hours from a customer's refund request to Apple's decision.
    package var refundDecisionHours: Int64 = 48
    /// Minutes from the request of a mass extension to its completion.
    package var massExtensionMinutes: Int64 = 60

    /// The developer's agreement, for Apple's sales and financial reports.
    package var reports = ReportRules()

    /// The app's shared secret, which verifyReceipt requires and version 1 notifications contain.
    package var sharedSecret = Self.wellKnownSecret
    /// The URL to which version 1 notifications are posted, in addition to those of version 2. If
    /// nil, no version 1 notifications are made.
    package var v1NotificationURL: String?
    package var v1Era = V1Era.year2021
    /// The digest algorithm of receipt signatures.
    package var receiptDigest = ReceiptDigest.sha256

    /// The shared secret of every world whose settings contain no other secret.
    package static let wellKnownSecret = "c0ffee00c0ffee00c0ffee00c0ffee00"
    /// The allowed numbers of grace days.
    package static let graceDaysRange = 0...28
    /// The longest time until a decision about a refund: a month, in hours.
    package static let refundDecisionHoursMax: Int64 = 720
    /// The maximum number of seconds before a period's end at which its renewal is charged: a day,
    /// as at Apple.
    package static let renewsEarlySecondsMax: Int64 = 86_400

    package init(
        seed: UInt64 = 1, now: AppStoreDate = defaultNow, shop: StoreKitFile,
        bundleID: String = ExampleShop.bundleID, appAppleID: Int64 = ExampleShop.appAppleID,
        notificationURL: String? = nil
    ) {
        self.seed = seed
        self.now = now
        self.shop = shop
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.notificationURL = notificationURL
        apply(shop.settings)
    }

    /// Whether notifications could be posted to this URL.
    package static func isPostableURL(_ text: String) -> Bool {
        guard let url = URL(string: text) else { return false }
        return ["http", "https"].contains(url.scheme) && url.host?.isEmpty == false
    }

    /// Replaces the shop. All settings that belong to the shop are reset to what its file says, or
    /// to their defaults. Families belong to the customers, so they stay, as do all other settings.
    package mutating func replaceShop(_ shop: StoreKitFile) {
        let fresh = Self(shop: shop)
        let families = rules.families
        self.shop = shop
        rules = fresh.rules
        rules.families = families
        graceDays = fresh.graceDays
        graceForPaidOnly = fresh.graceForPaidOnly
        sandboxPace = fresh.sandboxPace
    }

    /// Applies a shop's own settings to the world.
    package mutating func apply(_ settings: StoreKitSettings) {
        rules.apply(settings)
        if let isOn = settings.billingGracePeriodEnabled {
            graceDays = isOn ? Self.xcodeGraceDays : 0
        }
        if let rate = settings.timeRate { sandboxPace = Pace(timeRate: rate) ?? sandboxPace }
    }

    /// The number of grace days if Xcode's grace period switch is on.
    static let xcodeGraceDays = 16

    /// The initial time, 2026-01-01T12:00:00Z, which is far from any daylight saving change.
    package static let defaultNow = AppStoreDate(milliseconds: 1_767_268_800_000)

    /// The number of grace days for a period: at most 6 if the period is counted in days or weeks.
    func graceDays(for period: BillingPeriod) -> Int {
        period.months > 0 ? graceDays : min(graceDays, 6)
    }

    func has(_ habit: Quirk) -> Bool { quirks.contains(habit) }

    func pace(in environment: SimulatedEnvironment) -> Pace {
        switch environment {
        case .production: .realTime
        case .sandbox: sandboxPace
        }
    }
}
