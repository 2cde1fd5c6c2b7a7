import Ledger
import Testing

@testable import Engine

/// A webhook receiver: what it answers at each time. Time is virtual.
private struct Receiver {
    var answer: (Duration) -> WebhookAnswer

    struct Course: Equatable {
        var attempts: [Duration] = []
        var end: WebhookVerdict.Outcome?
        var isPaused = false
        var holds: [Duration] = []
    }

    func course(jitter: Double = 0) -> Course {
        var (course, time) = (Course(), Duration.zero)
        while course.end == nil, !course.isPaused, course.attempts.count < 100 {
            course.attempts.append(time)
            let verdict = WebhookVerdict(
                on: answer(time), tries: course.attempts.count, jitter: jitter)
            if let hold = verdict.hold { course.holds.append(hold) }
            course.isPaused = verdict.isGone
            switch verdict.outcome {
            case .retry(let pause): time += pause
            case .delivered, .failed: course.end = verdict.outcome
            }
        }
        return course
    }
}

@Suite struct WebhookVerdictTests {
    private static let pauses = WebhookVerdict.pauses

    private func check(
        _ course: Receiver.Course, attempts: Int, end: WebhookVerdict.Outcome?,
        isPaused: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(course.attempts.count == attempts, sourceLocation: sourceLocation)
        #expect(course.end == end, sourceLocation: sourceLocation)
        #expect(course.isPaused == isPaused, sourceLocation: sourceLocation)
    }

    @Test(arguments: [0, 0.5, 1])
    func `if a receiver is down for 72 hours, it gets the delivery after that time`(jitter: Double)
    {
        let receiver = Receiver { $0 < .hours(72) ? .failure("down") : .answer(status: 200) }
        check(receiver.course(jitter: jitter), attempts: jitter == 0 ? 10 : 10, end: .delivered)
    }

    @Test(arguments: [0, 1])
    func `the last attempt of a delivery comes three to four days after the first attempt`(
        jitter: Double
    ) {
        let course = Receiver { _ in .answer(status: 500) }.course(jitter: jitter)
        check(course, attempts: WebhookVerdict.attemptsMax, end: .failed)
        let last = course.attempts.last ?? .zero
        #expect(last >= .hours(72) && last <= .hours(96))
    }

    @Test func `the first attempt is made at once, and the second after five seconds`() {
        let course = Receiver { $0 < .seconds(5) ? .failure("down") : .answer(status: 204) }
            .course()
        #expect(course.attempts == [.zero, .seconds(5)])
        check(course, attempts: 2, end: .delivered)
    }

    @Test func `a receiver that fails half of the time gets the delivery at last`() {
        let receiver = Receiver {
            Int($0.components.seconds) / 1_800 % 2 == 0
                ? .answer(status: 502) : .answer(status: 200)
        }
        #expect(receiver.course().end == .delivered)
    }

    @Test func `a receiver that times out gets as many attempts as one that returns errors`() {
        let course = Receiver { _ in .failure("no response within 15 seconds") }.course()
        check(course, attempts: WebhookVerdict.attemptsMax, end: .failed)
    }

    @Test func `status 410 pauses the webhook, and the delivery stays due`() {
        check(
            Receiver { _ in .answer(status: 410) }.course(), attempts: 1, end: nil,
            isPaused: true)
    }

    @Test(arguments: [100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 422, 500, 599])
    func `a delivery that is always answered with a status other than 2xx fails`(status: Int) {
        let course = Receiver { _ in .answer(status: status) }.course()
        check(course, attempts: WebhookVerdict.attemptsMax, end: .failed)
    }

    @Test(arguments: [200, 201, 202, 204, 299])
    func `a delivery that is answered with any 2xx status is delivered`(status: Int) {
        check(Receiver { _ in .answer(status: status) }.course(), attempts: 1, end: .delivered)
    }

    @Test func `Retry-After delays the next attempt, up to a limit`() {
        func first(_ seconds: Int64) -> Duration? {
            Receiver { _ in .answer(status: 500, retryAfter: .seconds(seconds)) }.course()
                .attempts.dropFirst().first
        }
        #expect(first(0) == .seconds(5))
        #expect(first(600) == .seconds(600))
        #expect(first(1_000_000) == WebhookVerdict.retryAfterMax)
    }

    @Test func `status 429 or 503 with Retry-After delays all deliveries of the webhook`() {
        func holds(_ status: Int, _ seconds: Int64?) -> [Duration] {
            let asked = seconds.map { Duration.seconds($0) }
            return Receiver {
                $0 == .zero ? .answer(status: status, retryAfter: asked) : .answer(status: 200)
            }.course().holds
        }
        #expect(holds(429, 60) == [.seconds(60)])
        #expect(holds(503, 1_000_000) == [WebhookVerdict.holdMax])
        #expect(holds(503, nil) == [] && holds(500, 60) == [])
    }
}
