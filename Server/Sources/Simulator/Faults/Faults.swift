import AppStoreFormats

/// What goes wrong between the App Store and its clients. The draws follow from the seed, but are
/// separate from the world's draws: a world with faults has the same history as one without.
package struct Faults: Sendable {
    /// What happens to one notification.
    struct Fate: Hashable, Sendable {
        var timing = Timing.sent
        /// All faults that occurred, in order of declaration.
        var faults: [NotificationFault] = []

        enum Timing: Hashable, Sendable {
            case sent
            case dropped
            case duplicated
            case burst
            /// The notification is delayed by a number of milliseconds.
            case delayed(Int64)
            /// The notification is held until after the next one.
            case reordered
        }
    }

    /// A delay of fixed length, or of a random length up to a maximum.
    package struct Delay: Hashable, Sendable {
        package var seconds: Int64
        package var isMaximum: Bool

        /// The maximum delay: a month.
        package static let secondsMax: Int64 = 2_678_400

        package init(seconds: Int64, isMaximum: Bool = false) {
            self.seconds = seconds
            self.isMaximum = isMaximum
        }
    }

    package var notifications: ArmedFaults<NotificationFault>
    package var delay = Delay(seconds: 3600)
    /// While the outage lasts, nothing is sent. Due notifications are sent at its end.
    package var notificationOutage: Outage?
    package var api: ArmedFaults<APIFault>
    package var apiOutage: Outage?
    /// The delay of the fault `slow`, in seconds of real time.
    package var slowSeconds = 5.0
    package var staleSeconds: Int64 = 3600
    package var retryAfterSeconds: Int64 = 1
    package var devices: ArmedFaults<DeviceFault>

    init(seed: UInt64) {
        notifications = ArmedFaults(seed: seed ^ 0x5EED_FA17)
        api = ArmedFaults(seed: seed ^ 0x5EED_0A91)
        devices = ArmedFaults(seed: seed ^ 0x5EED_DE71)
    }

    mutating func fate(of notice: NotificationDraft) -> Fate {
        let length = delayMilliseconds(notifications.fraction())
        let faults = notifications.draw { $0.canStrike(notice) }
        let timing = faults.lazy.compactMap { $0.timing(delayedBy: length) }.first
        return Fate(timing: timing ?? .sent, faults: faults)
    }

    private func delayMilliseconds(_ fraction: Double) -> Int64 {
        let whole = delay.seconds * 1000
        return delay.isMaximum ? Int64(Double(whole) * fraction) : whole
    }
}

extension NotificationFault {
    /// When and how many times an affected notification is sent. Nil if the fault changes neither.
    fileprivate func timing(delayedBy milliseconds: Int64) -> Faults.Fate.Timing? {
        switch self {
        case .drop: .dropped
        case .burst: .burst
        case .duplicate: .duplicated
        case .reorder: .reordered
        case .delay: .delayed(milliseconds)
        case .otherTransactionID, .unknownType, .unknownSubtype, .unknownStatus,
            .unknownOfferType, .unknownValue, .truncate, .forged, .tampered, .truncated, .expired,
            .wrongApp, .wrongEnvironment:
            nil
        }
    }

    /// Whether a notification contains the value that the fault changes.
    fileprivate func canStrike(_ notice: NotificationDraft) -> Bool {
        switch self {
        case .otherTransactionID: notice.type == .didRenew
        case .unknownStatus: notice.status != nil
        case .unknownOfferType: notice.transaction?.offerType != nil
        case .drop, .burst, .duplicate, .reorder, .delay, .unknownType, .unknownSubtype,
            .unknownValue, .truncate, .forged, .tampered, .truncated, .expired, .wrongApp,
            .wrongEnvironment:
            true
        }
    }
}
