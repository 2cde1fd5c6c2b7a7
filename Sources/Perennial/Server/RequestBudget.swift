/// How much the SDK sends by itself: what nobody waits for holds back, so that no fault of a server,
/// of a proxy or of ours makes an app ask without a pause.
///
/// Requests that somebody waits for, such as those of a purchase, count and are never held back.
struct RequestBudget: Sendable {
    /// Requests in any minute. A launch takes four, and an app that waits for changes two or three a
    /// minute.
    static let perMinute = 60
    private static let minute: Int64 = 60_000

    /// When the last ones were sent, the oldest first.
    private var sent: [Moment] = []

    /// By the device's clock and by the machine's, in milliseconds. In tests the first stands still
    /// while requests take their time, or moves by days within an instant.
    struct Moment: Sendable {
        var device: Int64
        var machine: Int64

        func milliseconds(since start: Moment) -> Int64 {
            max(device - start.device, machine - start.machine)
        }
    }

    mutating func record(at now: Moment) {
        sent.append(now)
        if sent.count > Self.perMinute { sent.removeFirst() }
    }

    /// Milliseconds until one more may be sent. Zero: now.
    func wait(at now: Moment) -> Int64 {
        guard sent.count >= Self.perMinute, let oldest = sent.first else { return 0 }
        return max(0, Self.minute - now.milliseconds(since: oldest))
    }
}

extension RequestBudget.Moment {
    init(by clock: any DeviceClock) {
        self.init(device: clock.monotonic(), machine: SystemClock().monotonic())
    }
}
