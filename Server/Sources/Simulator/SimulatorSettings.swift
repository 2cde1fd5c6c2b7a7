import AppStoreFormats
import Foundation

/// What a simulated world begins with. Where Apple says nothing, or has several ways, there is a
/// switch here.
package struct SimulatorSettings: Sendable {
    /// Everything random comes from it: one seed, one history.
    package var seed: UInt64
    package var now: AppStoreDate
    package var shop: StoreKitFile
    package var bundleID: String
    package var appAppleID: Int64
    /// Where notifications go; nil keeps them without sending.
    package var notificationURL: String?
    /// The buying side: what the shop's file says about it, and what it cannot say.
    package var rules = ShopRules()
    /// Days of billing grace; 0 switches it off. Apple offers 3, 16 and 28, and gives weekly
    /// subscriptions at most 6.
    package var graceDays = 16
    /// Whether grace is given to those only whose last period was paid: not after a free trial.
    package var graceForPaidOnly = false
    /// How long before a period's end its renewal is charged; the period begins at the old one's
    /// end all the same.
    package var renewsEarlySeconds: Int64 = 0
    /// Whether the answer 400 ends the attempts to deliver a notification, as developers see since
    /// March 2026.
    package var stopsRetryingAt400 = true
    /// Whether a transaction that was upgraded carries the date of its prorated refund.
    package var upgradeSetsRevocationDate = true

    /// Who may call the App Store Server API.
    package var apiKeys = [APIKey.wellKnown]
    /// Whether its limits of calls in a second hold, and by whose time.
    package var apiRateLimits = RateLimits.Time.off
    /// What the OCSP responder declares revoked.
    package var revokedCertificates: Set<RevocationDesk.Subject> = []

    /// Whether also the signatures come from the seed, so that two runs are the same bytes.
    package var isDeterministic = false

    /// Whether random customers act at whole seconds, which is as exact as receipts are.
    package var actsOnWholeSeconds = false
    /// What is otherwise than documented.
    package var habits: Set<Habit> = []
    /// How fast subscriptions of the sandbox renew, where a device says nothing else.
    package var sandboxPace = Pace.monthly(.fiveMinutes)
    /// Hours from a customer's request for a refund to Apple's decision.
    package var refundDecisionHours: Int64 = 48
    /// Minutes from the order of a mass extension to its end.
    package var massExtensionMinutes: Int64 = 60

    /// The app's shared secret: what verifyReceipt wants, and what V1 notifications carry.
    package var sharedSecret = Self.wellKnownSecret
    /// Where V1 notifications go, beside those of version 2; nil makes none.
    package var v1NotificationURL: String?
    package var v1Era = V1Era.year2021
    /// How receipts are hashed for their signature.
    package var receiptDigest = ReceiptDigest.sha256

    /// The secret of every app that has set none.
    package static let wellKnownSecret = "c0ffee00c0ffee00c0ffee00c0ffee00"
    /// The days of grace that can be set.
    package static let graceDaysRange = 0...28
    /// A month.
    package static let refundDecisionHoursMax: Int64 = 720
    /// Apple charges up to a day early.
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
        take(shop.settings)
    }

    /// Whether notifications could be posted there.
    package static func isAddress(_ text: String) -> Bool {
        guard let url = URL(string: text) else { return false }
        return ["http", "https"].contains(url.scheme) && url.host?.isEmpty == false
    }

    /// Opens another shop: all that is the shop's begins anew, as its file says, or as it would be
    /// without a word. Families stay, as they are the customers'; so does all else.
    package mutating func open(_ shop: StoreKitFile) {
        let fresh = Self(shop: shop)
        let families = rules.families
        self.shop = shop
        rules = fresh.rules
        rules.families = families
        graceDays = fresh.graceDays
        graceForPaidOnly = fresh.graceForPaidOnly
        sandboxPace = fresh.sandboxPace
    }

    /// Lets a shop's own settings be those of the world.
    package mutating func take(_ settings: StoreKitSettings) {
        rules.take(settings)
        if let isOn = settings.billingGracePeriodEnabled {
            graceDays = isOn ? Self.xcodeGraceDays : 0
        }
        if let rate = settings.timeRate { sandboxPace = Pace(timeRate: rate) ?? sandboxPace }
    }

    /// What Xcode's switch for grace means in real time.
    static let xcodeGraceDays = 16

    /// 2026-01-01T12:00:00Z: far from any change of the clocks.
    package static let defaultNow = AppStoreDate(milliseconds: 1_767_268_800_000)

    /// Days of grace for a period: 6 at most where it is of days or weeks.
    func graceDays(for period: BillingPeriod) -> Int {
        period.months > 0 ? graceDays : min(graceDays, 6)
    }

    func has(_ habit: Habit) -> Bool { habits.contains(habit) }

    func pace(in environment: SimulatedEnvironment) -> Pace {
        switch environment {
        case .production: .realTime
        case .sandbox: sandboxPace
        }
    }
}
