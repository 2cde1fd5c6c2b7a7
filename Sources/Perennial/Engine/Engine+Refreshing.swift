internal import Foundation
internal import PerennialContract

extension Engine {
    /// Asks the server and reads the store. Throws no error: failed requests are retried.
    func refresh(within timeout: TimeInterval) async {
        let environment = state.contractEnvironment
        // The offerings are fetched in parallel, so that a slow server does not delay the store's
        // answer.
        async let offerings: Void = fetchOfferings(within: timeout, isAwaited: false)
        // The store is read first, because the server may not know a purchase yet.
        let reading = Task { await readStore() }
        await wait(for: reading)
        try? await fetchCustomer(within: timeout, isAwaited: false)
        await reading.value
        await offerings
        // The store's answer may be the first to name the environment.
        if environment != state.contractEnvironment {
            await fetchOfferings(within: timeout, isAwaited: false)
        }
    }

    /// How many milliseconds the request to the server waits for the store's answer.
    static let storeWait: Int64 = 3_000

    /// Waits for the store's answer, for a limited time.
    private func wait(for reading: Task<Void, Never>) async {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let waiting = Task {
            await reading.value
            end.yield(true)
        }
        let clock = clock
        let limit = Task {
            try await clock.sleep(milliseconds: Self.storeWait)
            end.yield(false)
        }
        for await isRead in ends {
            state.isStoreSilent = !isRead
            break
        }
        waiting.cancel()
        limit.cancel()
    }

    /// Works as ``refresh(within:)``, for a caller that waits for the result: throws an error if
    /// the server could not be asked.
    func refreshNow() async throws(Perennial.Failure) {
        await open()
        await outbox?.hurry()
        await fetchOfferings(within: configuration.patience)
        await readStore()
        await post(isAwaited: true)
        try await fetchCustomer(within: configuration.patience)
    }

    /// Requests all data that may have changed while the app was in the background.
    func enterForeground() async {
        await open()
        becomeWriter()
        await outbox?.hurry()
        await attributes.hurry()
        session.require(.customer)
        try? await fetchCustomer(within: configuration.patience, isAwaited: false)
        if !state.areOfferingsCurrent {
            await fetchOfferings(within: configuration.patience, isAwaited: false)
        }
        await readStore()
        await post()
    }
}
