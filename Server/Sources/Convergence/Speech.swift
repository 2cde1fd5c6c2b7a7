import AppStoreFormats
import Simulator
import Synchronization

/// In which of Apple's languages a trial's world is told: what devices post, what the store
/// announces, and how it can be asked.
package enum Speech: String, Hashable, Sendable, CaseIterable {
    /// Signed transactions, notifications of version 2, the App Store Server API.
    case modern
    /// App receipts, notifications of version 1, verifyReceipt with the shared secret: no key.
    case legacy
    /// An update of the app comes in the middle of the lives: before it as `legacy`, after it as
    /// `modern`, but for those who have not updated.
    case mixed

    /// What happens, in one sentence.
    package var summary: String {
        switch self {
        case .modern: "Signed transactions, notifications of version 2, the App Store Server API."
        case .legacy: "Receipts, notifications of version 1, verifyReceipt; there is no key."
        case .mixed: "First as legacy; an update of the app moves all lives to the new ways."
        }
    }
}

/// How far an app has come: before its update it speaks of receipts, and nobody has a key. What an
/// operator would change in the configuration, and what a new version of an app brings.
final class Progress: Sendable {
    private let isUpdated: Mutex<Bool>

    init(_ speech: Speech) { isUpdated = Mutex(speech == .modern) }

    /// Whether everything is as in modern worlds.
    var isModern: Bool { isUpdated.withLock { $0 } }

    func update() { isUpdated.withLock { $0 = true } }
}

extension Plan {
    /// A world in so many speaks the older languages only, and as many learn the new one.
    private static let olderOneIn = 10

    /// Drawn apart, so that no other draw of a seed moves.
    static func speech(of seed: UInt64) -> Speech {
        var lots = Lots(seed: seed, part: "speech")
        return switch lots.number(in: 1...olderOneIn) {
        case 1: .legacy
        case 2: .mixed
        default: .modern
        }
    }

    /// In the middle of the storm.
    var updatesAt: Int64 {
        var lots = lots("update")
        let length = Double(stormEnd.milliseconds - Self.start.milliseconds)
        return (Self.start.milliseconds + Int64((0.2 + 0.6 * lots.fraction()) * length)).wholeSecond
    }

    /// What an older world's store is like. Receipts are exact to the second, and so is all that
    /// happens there, as with Apple.
    func speak(in settings: inout SimulatorSettings) {
        guard speech != .modern else { return }
        var lots = lots("eras")
        settings.notificationURL = nil
        settings.v1NotificationURL = Self.address
        settings.v1Era = lots.choice(.year2021, .year2021, .year2020, .year2018)
        settings.receiptDigest = lots.choice(.sha256, .sha1)
        settings.actsOnWholeSeconds = true
        // One purchase has two names then, and nothing says that they are one.
        settings.habits.remove(.sandboxReceiptsShiftOriginalID)
    }

    static let address = "direct"

    /// A moment at which something is bought or changed.
    func moment(_ milliseconds: Int64) -> Int64 {
        speech == .modern ? milliseconds : milliseconds.wholeSecond
    }
}

extension Int64 {
    /// In milliseconds since 1970: the next whole second, which it may be itself.
    fileprivate var wholeSecond: Int64 { AppStoreDate(milliseconds: self).endOfSecond.milliseconds }
}
