/// Limits the requests that no caller waits for, so that a fault of a server, of a proxy or of the
/// SDK never makes an app send requests without a pause.
///
/// Requests that a caller waits for, such as those of a purchase, use up the budget but are never
/// delayed. Other requests check the budget when they are sent, not earlier, because several loops
/// may wait for the same moment.
struct RequestBudget: Sendable {
    /// The maximum number of requests in any minute. A launch needs four requests. An app that
    /// waits for changes needs two or three requests a minute.
    static let perMinute = 60
    /// The number of requests that is reserved for fetching the keys that sign tokens. The keys are
    /// fetched at most once a minute, when an answer needs them.
    static let keptFree = 1
    private static let minute: Int64 = 60_000

    /// When the last requests were sent, oldest first.
    private var sent: [Moment] = []

    /// A moment in milliseconds, by the device's clock and by the machine's clock. The two clocks
    /// differ only in tests, where the device's clock stands still while requests take time, or
    /// moves by days within an instant.
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

    /// The milliseconds until another request that no caller waits for may be sent. Zero if such a
    /// request may be sent now.
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
