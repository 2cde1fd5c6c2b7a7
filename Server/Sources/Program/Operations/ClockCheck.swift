/// Compares this machine's clock with the App Store's, for `check`.
struct ClockCheck: Hashable, Sendable {
    /// The maximum difference. After the end of a period, the server waits this long for a report
    /// of the renewal.
    static let differenceMax = Duration.seconds(60)

    let isOK: Bool
    let text: String

    /// - Parameter ahead: the minimum time by which this machine's clock is ahead; negative if it
    ///   is behind.
    init(ahead: Duration) {
        let seconds = ahead.components.seconds
        let difference = ahead < .zero ? .zero - ahead : ahead
        isOK = difference <= Self.differenceMax
        var text = "clock: "
        switch seconds {
        case 0: text += "agrees with the App Store's"
        case 1...: text += "at least \(seconds) seconds ahead of the App Store's"
        default: text += "at least \(-seconds) seconds behind the App Store's"
        }
        self.text = isOK ? text : text + Self.remedy(isAhead: seconds > 0)
    }

    private static func remedy(isAhead: Bool) -> String {
        let harm =
            isAhead
            ? "periods end too early"
            : "periods end too late, and from five minutes on Apple's signatures cannot be verified"
        return ": \(harm)\n  Synchronise it with network time. `timedatectl` shows whether it is."
    }
}
