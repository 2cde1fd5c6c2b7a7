/// Whether this machine's clock agrees with the App Store's: what `check` says about it.
struct ClockTrial: Hashable, Sendable {
    /// So long after a period's end the news of it is waited for.
    static let differenceMax = Duration.seconds(60)

    let isOK: Bool
    let text: String

    /// - Parameter ahead: by how much the clock is ahead at least; below zero: behind.
    init(ahead: Duration) {
        let seconds = ahead.components.seconds
        let difference = ahead < .zero ? .zero - ahead : ahead
        isOK = difference <= Self.differenceMax
        var text = "clock: "
        switch seconds {
        case 0: text += "it agrees with the App Store's"
        case 1...: text += "at least \(seconds) seconds ahead of the App Store's"
        default: text += "at least \(-seconds) seconds behind the App Store's"
        }
        self.text = isOK ? text : text + Self.remedy(isAhead: seconds > 0)
    }

    private static func remedy(isAhead: Bool) -> String {
        let harm =
            isAhead
            ? "periods end too early"
            : "periods end too late, and from five minutes on what Apple signs cannot be judged"
        return ": \(harm)\n  Let it follow the network; `timedatectl` tells whether it does."
    }
}
