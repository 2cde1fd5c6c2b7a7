import AppStoreFormats

// How time goes on in the world: it is moved, or it runs.

extension AppStoreSimulator {
    /// Real time between two looks at a running clock.
    static let tick = Duration.milliseconds(50)
    /// Real time for which a running clock is kept ahead; at least half of it.
    static let leadMilliseconds: Int64 = 2000

    /// Moves the clock, letting everything due on the way happen in order of time.
    package func advance(to moment: AppStoreDate) async throws {
        try await advance { _ in moment }
    }

    /// The same, by a length of time from when its turn comes: two callers at once move the clock
    /// by both lengths.
    package func advance(by duration: ISODuration) async throws {
        try await advance { world.calendar.moment($0, plus: duration) }
    }

    private func advance(_ target: (AppStoreDate) -> AppStoreDate) async throws {
        await takeTurn()
        defer { endTurn() }
        let moment = target(clock.now)
        try check(moment)
        try keep(moment)
        try await run(until: moment)
        await quiesce()
    }

    /// Lets virtual time run at a multiple of real time; 0 stops it.
    package func setRate(_ rate: Double) async throws {
        await takeTurn()
        defer { endTurn() }
        try Self.check(rate: rate)
        try keep(clock.now, runningAt: rate)
        clock.run(rate: rate)
    }

    static func check(rate: Double) throws(StoreProblem) {
        guard (0...VirtualClock.rateMax).contains(rate) else {
            throw .badRequest(
                "The rate is \(rate).", remedy: "Choose 0 to \(Int(VirtualClock.rateMax)).")
        }
    }

    /// Makes a running clock do its work. Returns when its task is cancelled.
    package func runClock() async {
        while !Task.isCancelled {
            if clock.rate > 0 { await catchUp() }
            do { try await Task.sleep(for: Self.tick) } catch { break }
        }
        // Nobody waits for news of a simulator that stops.
        listeners.finish()
    }

    private func catchUp() async {
        await takeTurn()
        if let trouble = await runToPresent() { note(.trouble, [("error", .string(trouble))]) }
        endTurn()
    }

    /// Returns what went wrong, in words. A function of its own, and not inlined: the optimizer of
    /// Swift 6.3 crashes where an async function catches errors of both kinds of `throws`.
    @inline(never)
    private func runToPresent() async -> String? {
        let now = clock.now
        do { try keep(now, runningAt: clock.rate) } catch { return "\(error)" }
        do { try await run(until: now) } catch { return error.description }
        return nil
    }

    /// Lets a moment be known before time passes it; harmless for one that has passed.
    ///
    /// - Parameter rate: at which the clock runs from there: then as much more is kept as passes in
    ///   some real time, so that it is not kept anew for each look at the clock.
    func keep(_ moment: AppStoreDate, runningAt rate: Double = 0) throws {
        let lead = Int64(Double(Self.leadMilliseconds) * rate)
        guard AppStoreDate(milliseconds: moment.milliseconds + lead / 2) > kept else { return }
        let later = AppStoreDate(milliseconds: moment.milliseconds + lead)
        try keepTime(later)
        kept = later
    }

    func check(_ moment: AppStoreDate) throws(StoreProblem) {
        guard moment >= clock.now, moment <= Self.lastMoment else {
            throw .badRequest(
                "The clock stands at \(RFC3339.text(clock.now)) and cannot be set there.",
                remedy: "Choose a later time (before 2099), or begin anew with POST /_sim/reset.")
        }
    }

    /// 2099-01-01, when the certificates end.
    private static let lastMoment = AppStoreDate(milliseconds: 4_070_908_800_000)
}
