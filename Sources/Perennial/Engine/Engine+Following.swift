internal import Foundation
internal import PerennialContract

// MARK: - Learning of a change when it happens

extension Engine {
    /// How long the server is asked to hold a request. Seconds.
    static let followSeconds = 25
    /// An answer that comes sooner and says nothing new is of a server that does not hold requests.
    /// Milliseconds.
    static let followMin: Int64 = 1_000

    /// Asks the server to say when something changes, if the app wants that. Idempotent.
    func follow() {
        guard configuration.waitsForChanges, !isOver, let id = memory.state.customerID,
            following?.id != id
        else { return }
        following?.task.cancel()
        following = (id, Task { await followChanges(of: id) })
    }

    /// Ends when somebody else signs in, or when there is nothing to compare with.
    private func followChanges(of id: String) async {
        var failures = 0
        while !Task.isCancelled, memory.state.customerID == id, mayPost, let known = etag {
            let started = SystemClock().monotonic()
            var pause: Int64 = 0
            do {
                let isNews = try await waitForChange(of: id, since: known)
                let passed = SystemClock().monotonic() - started
                failures = isNews || passed >= Self.followMin ? 0 : failures + 1
            } catch {
                failures += 1
                pause = Int64(error.retryAfter ?? 0) * 1000
            }
            guard failures > 0 else { continue }
            pause = max(pause, min(Self.retryMin << min(failures - 1, 12), Self.retryMax))
            do { try await clock.sleep(milliseconds: pause) } catch { break }
        }
        if !Task.isCancelled { following = nil }
    }

    /// Returns whether the answer was a new one, and was taken. What fails here holds up nothing
    /// else: the server may have enough requests to hold, and still answer all others.
    private func waitForChange(of id: String, since known: String) async throws(ServerError) -> Bool
    {
        var query = environmentQuery
        query["wait"] = String(Self.followSeconds)
        var request = ServerRequest.get(
            Paths.customer(id), query: query, for: id,
            within: TimeInterval(Self.followSeconds) + configuration.patience)
        request.headers["If-None-Match"] = known
        requestsSent += 1
        let number = requestsSent
        let answer = try await server.send(request)
        guard !isOver, memory.state.customerID == id else { return false }
        recordTime(answer.serverTime)
        if answer.status == 304 {
            if isETagOfAnswer {
                confirm(id)
            } else {
                mustAsk = true
                await schedule()
            }
            return false
        }
        let customer = try answer.decode(PerennialContract.Customer.self)
        guard await accept(customer, for: id, by: number) else { return false }
        (etag, isETagOfAnswer) = (answer.etag, true)
        await publish()
        return true
    }
}
