import AppStoreFormats

/// What the server said to a posted notification: a status, or why there was none.
package struct PostAnswer: Hashable, Sendable {
    package var status: Int?
    package var error: String?

    package init(status: Int? = nil, error: String? = nil) {
        self.status = status
        self.error = error
    }

    /// Apple takes 200 to 206 for success.
    package var isSuccess: Bool { status.map { (200...206).contains($0) } ?? false }
}

/// A notification that was made, and what became of it.
package struct SentNotification: Sendable {
    package struct Attempt: Hashable, Sendable {
        package let at: AppStoreDate
        package let answer: PostAnswer
    }

    package let notice: Notice
    /// Empty of version 1, which is not signed.
    package let signedPayload: String
    /// What went wrong with it on the way.
    package var faults: [NotificationFault] = []
    /// Whether it is none of Apple's, but was sent by a fault beside the true one.
    package var isStray = false
    /// What is posted in place of the signed payload where this is of version 1.
    package var v1: V1Letter?
    package internal(set) var attempts: [Attempt] = []

    /// How much of a body is posted at an attempt, by its number from 1.
    func posted(_ body: [UInt8], attempt: Int) -> [UInt8] {
        attempt == 1 && faults.contains(.truncate) ? Array(body.prefix(body.count / 2)) : body
    }
}

/// The post office: keeps every notification, and knows which is to be posted next and when.
struct Deliveries: Sendable {
    /// Hours after an attempt that failed until the next. Production only; the sandbox tries once.
    static let retryHours: [Int64] = [1, 12, 24, 48, 72]
    /// The same of version 1.
    static let v1RetryHours: [Int64] = [6, 24, 48]
    /// Notifications kept to be looked at; the oldest goes first.
    static let keptMax = 20_000
    /// How long one that is to be overtaken waits for the next: an hour.
    static let heldMillisecondsMax: Int64 = 3_600_000
    /// How often a burst repeats a notification.
    static let burst = 6

    /// What follows an attempt.
    enum Step: Hashable, Sendable {
        case done
        case retry(at: AppStoreDate)
        case giveUp
    }

    /// One attempt that is to be made: the notification's number, and which attempt it is, from 1.
    struct Due: Hashable, Sendable {
        let number: Int
        let attempt: Int
    }

    private var kept: [Int: SentNotification] = [:]
    /// How many were made, and the number of the next.
    private(set) var count = 0
    private var oldest = 0
    private var queue = DueQueue<Due>()
    /// Waits for the next one to overtake it, but not for ever: the last of a life has no next.
    private var held: (number: Int, until: AppStoreDate)?
    let stopsRetryingAt400: Bool

    init(stopsRetryingAt400: Bool) { self.stopsRetryingAt400 = stopsRetryingAt400 }

    /// In the order in which they were made; without those that are none of Apple's.
    var all: [SentNotification] { inOrder.filter { $0.v1 == nil && !$0.isStray } }

    /// Those of version 1.
    var v1: [SentNotification] { inOrder.filter { $0.v1 != nil } }

    /// Those that are none of Apple's.
    var strays: [SentNotification] { inOrder.filter(\.isStray) }

    private var inOrder: [SentNotification] { made(from: oldest) }

    /// All from a number on that are still kept.
    func made(from number: Int) -> [SentNotification] {
        (min(max(number, oldest), count)..<count).compactMap { kept[$0] }
    }

    var nextDue: AppStoreDate? { [queue.first?.due, held?.until].compactMap(\.self).min() }

    /// Takes a notification in. Without a URL nothing is ever due.
    mutating func add(
        _ notification: SentNotification, timing: Faults.Fate.Timing = .sent, isSent: Bool
    ) {
        let number = keep(notification)
        let now = notification.notice.at
        guard isSent else { return }
        let first = Due(number: number, attempt: 1)
        switch timing {
        case .dropped: break
        case .sent: queue.add(notification.isStray ? extra(number) : first, due: now)
        case .duplicated:
            queue.add(first, due: now)
            queue.add(extra(number), due: now)
        case .burst:
            queue.add(first, due: now)
            for copy in 1..<Self.burst { queue.add(extra(number, copy: copy), due: now) }
        case .delayed(let milliseconds):
            queue.add(first, due: AppStoreDate(milliseconds: now.milliseconds + milliseconds))
        case .reordered:
            if held == nil {
                let until = AppStoreDate(milliseconds: now.milliseconds + Self.heldMillisecondsMax)
                held = (number, until)
                return
            }
            queue.add(first, due: now)
        }
        if !notification.isStray { release(after: number, at: now) }
    }

    private mutating func keep(_ notification: SentNotification) -> Int {
        let number = count
        count += 1
        kept[number] = notification
        if count - oldest > Self.keptMax {
            kept[oldest] = nil
            oldest += 1
        }
        return number
    }

    /// An attempt beyond the schedule: it is not followed by another. Each has a number of its own,
    /// so that no two copies of version 1 are alike.
    private func extra(_ number: Int, copy: Int = 1) -> Due {
        Due(number: number, attempt: Self.retryHours.count + copy)
    }

    /// An attempt that could not be made is to be made later.
    mutating func postpone(_ due: Due, until moment: AppStoreDate) { queue.add(due, due: moment) }

    /// Two that are held would wait for one another: the second goes, and the first follows it.
    private mutating func release(after number: Int, at now: AppStoreDate) {
        guard let held, held.number != number else { return }
        queue.add(Due(number: held.number, attempt: 1), due: now)
        self.held = nil
    }

    /// The attempt that is due by a moment, if any, with what to post. Its outcome is to be told to
    /// ``note(_:of:at:)``.
    mutating func takeNext(by now: AppStoreDate) -> (Due, SentNotification)? {
        if let held, held.until <= now {
            queue.add(Due(number: held.number, attempt: 1), due: held.until)
            self.held = nil
        }
        while let due = nextDue, due <= now, let next = queue.removeFirst() {
            if let notification = kept[next.number] { return (next, notification) }
        }
        return nil
    }

    /// Notes an attempt's outcome and plans the next.
    mutating func note(_ answer: PostAnswer, of due: Due, at now: AppStoreDate) {
        guard let notification = kept[due.number] else { return }
        kept[due.number]?.attempts.append(.init(at: now, answer: answer))
        let step = Self.step(
            after: answer, attempt: due.attempt, in: notification.notice.environment,
            hours: notification.v1 == nil ? Self.retryHours : Self.v1RetryHours,
            stopsAt400: stopsRetryingAt400, at: now)
        guard case .retry(let next) = step else { return }
        queue.add(Due(number: due.number, attempt: due.attempt + 1), due: next)
    }

    static func step(
        after answer: PostAnswer, attempt: Int, in environment: SimulatedEnvironment,
        hours: [Int64] = retryHours, stopsAt400: Bool, at now: AppStoreDate
    ) -> Step {
        if answer.isSuccess { return .done }
        guard environment == .production, attempt <= hours.count,
            !(stopsAt400 && answer.status == 400)
        else { return .giveUp }
        let pause = hours[attempt - 1] * 3_600_000
        return .retry(at: AppStoreDate(milliseconds: now.milliseconds + pause))
    }
}
