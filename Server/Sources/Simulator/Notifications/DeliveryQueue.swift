import AppStoreFormats

/// The server's response to a posted notification: a status, or why no response arrived.
package struct PostResult: Hashable, Sendable {
    package var status: Int?
    package var error: String?

    package init(status: Int? = nil, error: String? = nil) {
        self.status = status
        self.error = error
    }

    /// Apple treats 200 to 206 as success.
    package var isSuccess: Bool { status.map { (200...206).contains($0) } ?? false }
}

/// A notification that was made, with its delivery attempts.
package struct SentNotification: Sendable {
    package struct Attempt: Hashable, Sendable {
        package let at: AppStoreDate
        package let result: PostResult
    }

    package let draft: NotificationDraft
    /// The posted JWS. Empty for version 1, which is not signed.
    package let signedPayload: String
    /// The faults applied to the notification.
    package var faults: [NotificationFault] = []
    /// Whether a fault sent this notification in addition to a real one. A server must refuse it.
    package var isStray = false
    /// The body to post in place of the signed payload. Set for version 1 only.
    package var v1: V1Message?
    package internal(set) var attempts: [Attempt] = []

    /// The part of a body that is posted at an attempt, numbered from 1.
    func posted(_ body: [UInt8], attempt: Int) -> [UInt8] {
        attempt == 1 && faults.contains(.truncate) ? Array(body.prefix(body.count / 2)) : body
    }
}

/// Stores every notification, and schedules its delivery attempts.
struct DeliveryQueue: Sendable {
    /// Hours after a failed attempt until the next attempt in production. The sandbox tries once.
    static let retryHours: [Int64] = [1, 12, 24, 48, 72]
    /// Hours after a failed attempt of version 1 until the next attempt.
    static let v1RetryHours: [Int64] = [6, 24, 48]
    /// Maximum number of stored notifications. The oldest is removed first.
    static let storedMax = 20_000
    /// The maximum time for which a held notification waits for the next one to overtake it: an
    /// hour.
    static let heldMillisecondsMax: Int64 = 3_600_000
    /// The number of times that a burst posts a notification.
    static let burst = 6

    /// What follows an attempt.
    enum Step: Hashable, Sendable {
        case done
        case retry(at: AppStoreDate)
        case giveUp
    }

    /// A scheduled attempt: the notification's number, and the number of the attempt from 1.
    struct ScheduledAttempt: Hashable, Sendable {
        let number: Int
        let attempt: Int
    }

    private var stored: [Int: SentNotification] = [:]
    /// The number of notifications that were made, which is also the number of the next one.
    private(set) var count = 0
    private var oldest = 0
    private var queue = DueQueue<ScheduledAttempt>()
    /// A notification that waits until the next one overtakes it. The wait has a limit, because
    /// perhaps no other notification follows.
    private var held: (number: Int, until: AppStoreDate)?
    let stopsRetryingAt400: Bool

    init(stopsRetryingAt400: Bool) { self.stopsRetryingAt400 = stopsRetryingAt400 }

    /// Version 2 notifications in the order in which they were made, without strays.
    var all: [SentNotification] { inOrder.filter { $0.v1 == nil && !$0.isStray } }

    /// The version 1 notifications in the order in which they were made.
    var v1: [SentNotification] { inOrder.filter { $0.v1 != nil } }

    /// The documents that faults sent in addition, which a server must refuse.
    var strays: [SentNotification] { inOrder.filter(\.isStray) }

    private var inOrder: [SentNotification] { made(from: oldest) }

    /// The notifications about some accounts, in the order in which they were made: both versions,
    /// and strays.
    func made(about accounts: Set<String>) -> [SentNotification] {
        (oldest..<max(oldest, count)).compactMap { number in
            guard let account = stored[number]?.draft.account, accounts.contains(account) else {
                return nil
            }
            return stored[number]
        }
    }

    /// All stored notifications from a number on.
    func made(from number: Int) -> [SentNotification] {
        (min(max(number, oldest), count)..<count).compactMap { stored[$0] }
    }

    var nextDue: AppStoreDate? { [queue.first?.due, held?.until].compactMap(\.self).min() }

    /// Adds a notification and schedules its first attempts. If `isSent` is false, nothing is
    /// scheduled.
    mutating func add(
        _ notification: SentNotification, timing: Faults.Fate.Timing = .sent, isSent: Bool
    ) {
        let number = record(notification)
        let now = notification.draft.at
        guard isSent else { return }
        let first = ScheduledAttempt(number: number, attempt: 1)
        switch timing {
        case .dropped: break
        case .sent: queue.add(notification.isStray ? unscheduledAttempt(number) : first, due: now)
        case .duplicated:
            queue.add(first, due: now)
            queue.add(unscheduledAttempt(number), due: now)
        case .burst:
            queue.add(first, due: now)
            for copy in 1..<Self.burst {
                queue.add(unscheduledAttempt(number, copy: copy), due: now)
            }
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
        if !notification.isStray { releaseHeld(after: number, at: now) }
    }

    private mutating func record(_ notification: SentNotification) -> Int {
        let number = count
        count += 1
        stored[number] = notification
        if count - oldest > Self.storedMax {
            stored[oldest] = nil
            oldest += 1
        }
        return number
    }

    /// An attempt beyond the schedule, after which no other follows. Each such attempt has a
    /// different number, so that no two copies of version 1 are identical.
    private func unscheduledAttempt(_ number: Int, copy: Int = 1) -> ScheduledAttempt {
        ScheduledAttempt(number: number, attempt: Self.retryHours.count + copy)
    }

    /// Reschedules an attempt that could not be made.
    mutating func postpone(_ due: ScheduledAttempt, until moment: AppStoreDate) {
        queue.add(due, due: moment)
    }

    /// Posts the held notification after a later one. Only one notification is held at a time. If a
    /// second one must be held, the second is posted at once, and then the first.
    private mutating func releaseHeld(after number: Int, at now: AppStoreDate) {
        guard let held, held.number != number else { return }
        queue.add(ScheduledAttempt(number: held.number, attempt: 1), due: now)
        self.held = nil
    }

    /// Removes and returns the next attempt that is due by a moment, with the notification to post.
    /// The caller must report its outcome to ``recordOutcome(_:of:at:)``.
    mutating func dequeue(by now: AppStoreDate) -> (ScheduledAttempt, SentNotification)? {
        if let held, held.until <= now {
            queue.add(ScheduledAttempt(number: held.number, attempt: 1), due: held.until)
            self.held = nil
        }
        while let due = nextDue, due <= now, let next = queue.removeFirst() {
            if let notification = stored[next.number] { return (next, notification) }
        }
        return nil
    }

    /// Records an attempt's outcome, and schedules the next attempt if one follows.
    mutating func recordOutcome(
        _ answer: PostResult, of due: ScheduledAttempt, at now: AppStoreDate
    ) {
        guard let notification = stored[due.number] else { return }
        stored[due.number]?.attempts.append(.init(at: now, result: answer))
        let step = Self.step(
            after: answer, attempt: due.attempt, in: notification.draft.environment,
            hours: notification.v1 == nil ? Self.retryHours : Self.v1RetryHours,
            stopsAt400: stopsRetryingAt400, at: now)
        guard case .retry(let next) = step else { return }
        queue.add(ScheduledAttempt(number: due.number, attempt: due.attempt + 1), due: next)
    }

    static func step(
        after answer: PostResult, attempt: Int, in environment: SimulatedEnvironment,
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
