internal import Foundation
internal import PerennialContract

// MARK: - Waiting for changes

extension Engine {
    /// How many seconds the server is asked to hold a request.
    static let followSeconds = 25
    /// The shortest time, in milliseconds, that a held request takes. If an answer arrives sooner,
    /// the server does not hold requests, a proxy changes tags, or many changes happen.
    static let followMin: Int64 = 1_000

    /// Asks the server to report changes, if the app wants that. Idempotent.
    func follow() {
        guard configuration.waitsForChanges, !isOver, let id = state.device.customerID,
            session.follow(id)
        else { return }
        followTask?.cancel()
        followTask = Task { await followChanges(of: id) }
    }

    /// Asks the server for changes in a loop. The loop ends when another customer signs in, or when
    /// there is no tag to compare with.
    ///
    /// If an answer arrives at once, whatever it says, the loop waits before the next request. The
    /// wait grows with each such answer.
    private func followChanges(of id: String) async {
        var early = 0
        while !Task.isCancelled, state.device.customerID == id, mayPost, let known = session.lastTag
        {
            let started = RequestBudget.Moment(by: clock)
            var pause: Int64 = 0
            do {
                try await waitForChange(of: id, since: known)
                let passed = RequestBudget.Moment(by: clock).milliseconds(since: started)
                early = passed >= Self.followMin ? 0 : early + 1
            } catch {
                if !error.isHeldBack { early += 1 }
                pause = Int64(error.retryAfter ?? 0) * 1000
            }
            if early > 0 {
                pause = max(pause, RetryPauses.longestWait(after: early))
            }
            pause = max(pause, budgetWait)
            guard pause > 0 else { continue }
            do { try await clock.sleep(milliseconds: pause) } catch { break }
        }
        guard !Task.isCancelled else { return }
        session.stopFollowing()
        followTask = nil
    }

    /// Sends one request for the next change, and accepts the answer. A failure here affects no
    /// other request: the server may refuse to hold another request and still answer all others.
    private func waitForChange(of id: String, since known: String) async throws(ServerError) {
        var query = environmentQuery
        query["wait"] = String(Self.followSeconds)
        var request = ServerRequest.get(
            Paths.customer(id), query: query, for: id,
            within: TimeInterval(Self.followSeconds) + configuration.patience)
        request.headers["If-None-Match"] = known
        let number = try countRequest(isAwaited: false)
        let answer = try await server.send(request)
        guard !isOver, state.device.customerID == id else { return }
        recordTime(answer.serverTime)
        if answer.status == 304 {
            // Another answer may have arrived since, possibly with another tag.
            if session.currentTag == known {
                confirm(id)
            } else {
                session.require(.customer)
                await schedule()
            }
            return
        }
        let customer = try answer.decode(PerennialContract.Customer.self)
        guard await accept(customer, for: id, by: number) else { return }
        session.setTag(answer.etag)
        await publish()
    }
}
