/// How much the SDK sends by itself: what nobody waits for holds back, so that no fault of a
/// server, of a proxy or of ours makes an app ask without a pause.
///
/// Requests that somebody waits for, such as those of a purchase, count and are never held back.
/// Those that nobody waits for ask when they are sent, and not before: several loops may wait for
/// the same moment.
struct RequestBudget: Sendable {
    /// Requests in any minute. A launch takes four, and an app that waits for changes two or three
    /// a minute.
    static let perMinute = 60
    /// What is kept free for the keys that sign tokens, which are fetched once a minute at most,
    /// when an answer needs them.
    static let keptFree = 1
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

    /// Milliseconds until one more may be sent that nobody waits for. Zero: now.
    func wait(at now: Moment) -> Int64 {
        let decisive = sent.count - (Self.perMinute - Self.keptFree)
        guard decisive >= 0 else { return 0 }
        return max(0, Self.minute - now.milliseconds(since: sent[decisive]))
    }
}

extension RequestBudget.Moment {
    init(by clock: any DeviceClock) {
        self.init(device: clock.monotonic(), machine: clock.machine())
    }
}
