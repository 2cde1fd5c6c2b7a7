import AppStoreFormats
import Simulator
import Synchronization

/// The generation of Apple's APIs in a trial. It decides what devices post, what the App Store
/// sends, and how servers can query the App Store.
package enum ClientEra: String, Hashable, Sendable, CaseIterable {
    /// Signed transactions, version 2 notifications, the App Store Server API.
    case modern
    /// App receipts, version 1 notifications, and verifyReceipt with the shared secret; no API key.
    case legacy
    /// The app is updated during the trial. Before the update the world is like `legacy`, and after
    /// it like `modern`, except for customers who have not updated.
    case mixed

    /// Describes the era in one sentence.
    package var summary: String {
        switch self {
        case .modern: "Signed transactions, version 2 notifications, the App Store Server API."
        case .legacy: "Receipts, version 1 notifications, verifyReceipt; there is no API key."
        case .mixed: "Begins as legacy; an update of the app changes to the modern APIs."
        }
    }
}

/// Whether the app has been updated. Before the update it posts receipts, and no API key is
/// configured. This type models an operator who changes the configuration when the app's new
/// version is released.
final class AppUpdate: Sendable {
    private let isUpdated: Mutex<Bool>

    init(_ speech: ClientEra) { isUpdated = Mutex(speech == .modern) }

    /// Whether the modern APIs are used.
    var isModern: Bool { isUpdated.withLock { $0 } }

    func update() { isUpdated.withLock { $0 = true } }
}

extension Plan {
    /// One of this many trials uses only the older APIs. Equally many trials change to the modern
    /// APIs during the trial.
    private static let legacyOneIn = 10

    /// The era of a seed. The era is drawn from separate random values, so that the other values of
    /// the seed do not change.
    static func clientEra(of seed: UInt64) -> ClientEra {
        var lots = TrialRandom(seed: seed, part: "speech")
        return switch lots.number(in: 1...legacyOneIn) {
        case 1: .legacy
        case 2: .mixed
        default: .modern
        }
    }

    /// When the app is updated: at a random time within the middle three fifths of the period with
    /// faults.
    var updatesAt: Int64 {
        var lots = random("update")
        let length = Double(stormEnd.milliseconds - Self.start.milliseconds)
        return (Self.start.milliseconds + Int64((0.2 + 0.6 * lots.fraction()) * length)).wholeSecond
    }

    /// Configures the App Store of a legacy world. As with Apple, receipts are precise to the
    /// second, so everything in such a world happens on whole seconds.
    func configureEra(in settings: inout SimulatorSettings) {
        guard clientEra != .modern else { return }
        var lots = random("eras")
        settings.notificationURL = nil
        settings.v1NotificationURL = Self.address
        settings.v1Era = lots.choice(.year2021, .year2021, .year2020, .year2018)
        settings.receiptDigest = lots.choice(.sha256, .sha1)
        settings.actsOnWholeSeconds = true
        // With this quirk a purchase would have two original ids, and nothing would show that the
        // two ids belong together.
        settings.quirks.remove(.sandboxReceiptsShiftOriginalID)
    }

    static let address = "direct"

    /// The time at which a purchase or a change is made: in legacy worlds rounded up to a whole
    /// second.
    func moment(_ milliseconds: Int64) -> Int64 {
        clientEra == .modern ? milliseconds : milliseconds.wholeSecond
    }
}

extension Int64 {
    /// The moment, rounded up to a whole second; in milliseconds since 1970.
    fileprivate var wholeSecond: Int64 { AppStoreDate(milliseconds: self).endOfSecond.milliseconds }
}
