import Engine
import HTTPTypes
import Ledger
import NIOCore
import PerennialContract

/// Requests that came together on one event loop. They take each step together: all are read, then
/// all are looked up or kept, then all are answered.
///
/// So the code of a step is fetched into the processor's cache once for all of them, the database
/// is asked once, and whoever sent them gets the answers together, too, and sends the next ones
/// together.
final class Cohort {
    /// So many questions are answered by one look at the database, and so many notifications kept
    /// by one transaction.
    static let membersMax = 64
    /// For so long the event loop verifies what it has found ready; the rest goes by its route,
    /// which lets others have their turn.
    private static let verifyingMax = Duration.milliseconds(10)
    /// Of one answer. A larger one goes by its route, which waits for who is slow to read it.
    static let answerBytesMax = 32_768

    private struct Asked {
        var way: ShortWay
        var plain: PlainRequest
        var id: CustomerID
    }

    private struct Brought {
        var way: ShortWay
        var plain: PlainRequest
        var notification: VerifiedNotification
    }

    private let server: PerennialServer
    private let loop: any EventLoop
    private var asked: [Asked] = []
    private var brought: [Brought] = []
    private var date = HTTPDate()
    private var isCalled = false
    private var verifying = Duration.zero
    private let executor: LoopExecutor

    init(of server: PerennialServer, on loop: any EventLoop) {
        self.server = server
        self.loop = loop
        executor = LoopExecutor(loop: loop)
    }

    var bodyTime: Duration { server.bodyTime }

    /// Takes in a request that has come whole; false where it is one for its route.
    func join(_ way: ShortWay, _ plain: PlainRequest) -> Bool {
        switch plain.kind {
        case .question(let id):
            guard server.engine.answersAtOnce else { return false }
            asked.append(Asked(way: way, plain: plain, id: id))
        case .notification:
            // At once, while it is in the cache; and its bytes are let go of.
            var plain = plain
            guard let notification = verified(plain.takeBody()) else { return false }
            brought.append(Brought(way: way, plain: plain, notification: notification))
        }
        call()
        return true
    }

    private func verified(_ body: ByteBuffer) -> VerifiedNotification? {
        guard verifying < Self.verifyingMax else { return nil }
        let began = ContinuousClock.now
        defer {
            verifying += .now - began
            // Of what is refused, too.
            call()
        }
        return body.withUnsafeReadableBytes { server.engine.verifiedAtOnce(notification: $0) }
    }

    /// Of the connections that the loop has found ready none is left out: what is executed waits
    /// until all were read. There are no more members than connections.
    private func call() {
        guard !isCalled else { return }
        isCalled = true
        let cohort = NIOLoopBound(self, eventLoop: loop)
        loop.execute { cohort.value.answer() }
    }

    /// An answer lets the next request of its connection come, which may join: that one waits for
    /// the next call.
    private func answer() {
        isCalled = false
        verifying = .zero
        let (asked, brought) = (asked, brought)
        self.asked.removeAll(keepingCapacity: true)
        self.brought.removeAll(keepingCapacity: true)
        for some in brought.chunks(of: Self.membersMax) { keep(some) }
        for some in asked.chunks(of: Self.membersMax) { answer(some) }
    }

    // MARK: - Questions

    private func answer(_ members: ArraySlice<Asked>) {
        let answers = server.answers(to: members.map { ($0.id, $0.plain.headers) })
        for (member, answer) in zip(members, answers) {
            if let answer, answer.json.readableBytes <= Self.answerBytesMax {
                server.engine.noteAnswered(answer.state, in: answer.app)
                give(answer.json, to: member.way, member.plain, member.plain.requestID)
            } else {
                member.way.leave(member.plain)
            }
        }
    }

    private func give(
        _ json: ByteBuffer, to way: ShortWay, _ plain: PlainRequest, _ requestID: String
    ) {
        var headers: HTTPFields = [
            .contentType: "application/json", .contentLength: String(json.readableBytes),
            .date: date.now(),
        ]
        RequestFrame.complete(&headers, requestID: requestID)
        server.frame.finish(
            plain.request.method, route: plain.kind.route, .ok, requestID: requestID,
            began: plain.began)
        way.answer(HTTPResponse(status: .ok, headerFields: headers), json)
    }

    // MARK: - Notifications

    private func keep(_ brought: ArraySlice<Brought>) {
        let notifications = brought.map(\.notification)
        let members = NIOLoopBound(brought, eventLoop: loop)
        let (cohort, engine) = (NIOLoopBound(self, eventLoop: loop), server.engine)
        // Of each connection at most one waits here. Those whose clients have gone are as many as
        // may wait for the database.
        Task(executorPreference: executor) {
            cohort.value.answer(await engine.keep(notifications), to: members.value)
        }
    }

    private func answer(_ kept: [KeptNotification?], to members: ArraySlice<Brought>) {
        for (member, kept) in zip(members, kept) {
            guard let kept else {
                member.way.leave(member.plain.with(body: member.notification.body))
                continue
            }
            let requestID = member.plain.requestID
            server.noteKept(kept, requestID: requestID)
            give(PerennialServer.notificationKept, to: member.way, member.plain, requestID)
        }
    }
}

/// Runs tasks on an event loop: what begins and ends there is not handed to other threads between.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

extension Array {
    fileprivate func chunks(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map {
            self[$0..<Swift.min($0 + count, self.count)]
        }
    }
}

private struct PlainAnswer {
    var app: AppID
    var state: CustomerState
    var json: ByteBuffer
}

extension PerennialServer {
    /// Nil where a route is to answer: something would have to be waited for, or is refused.
    fileprivate func answers(to questions: [(CustomerID, HTTPFields)]) -> [PlainAnswer?] {
        let accepted = questions.map { id, headers in holder(asking: id, headers) }
        var asked: [CustomerQuestion] = []
        for ((id, _), holder) in zip(questions, accepted) {
            if let holder { asked.append(CustomerQuestion(id, in: holder.app)) }
        }
        var answers = engine.customersAtOnce(asked, in: .production)[...]
        return accepted.map { holder in
            guard let holder, let answer = answers.removeFirst() else { return nil }
            var customer = Customer(answer.state, showsAnonymous: holder.kind == .secret)
            customer.token = answer.token
            return PlainAnswer(
                app: holder.app, state: answer.state, json: Answers.customerJSON(customer))
        }
    }

    private func holder(asking id: CustomerID, _ headers: HTTPFields) -> KeyHolder? {
        guard let key = BearerKey(headers)?.text, let holder = keys.remembered(key) else {
            return nil
        }
        // What a proof has to be of is looked up by the route.
        guard holder.kind == .secret || !engine.wantsProof(holder.app) else { return nil }
        return holder
    }
}
