import AppStoreFormats

// How time passes in the world: a caller moves the clock, or it runs.

extension AppStoreSimulator {
    /// Real time between two checks of a running clock.
    static let tick = Duration.milliseconds(50)
    /// How far ahead of a running clock the saved time may be, in milliseconds of real time. At
    /// least half of this lead is always left.
    static let leadMilliseconds: Int64 = 2000

    /// Moves the clock to a moment. Everything due on the way happens in order of time.
    package func advance(to moment: AppStoreDate) async throws {
        try await advance { _ in moment }
    }

    /// Moves the clock forward by a duration, counted from the moment at which the caller's turn
    /// begins: two concurrent callers move the clock by the sum of both durations.
    package func advance(by duration: ISODuration) async throws {
        try await advance { world.calendar.moment($0, plus: duration) }
    }

    private func advance(_ target: (AppStoreDate) -> AppStoreDate) async throws {
        await acquireTurn()
        defer { releaseTurn() }
        let moment = target(clock.now)
        try check(moment)
        if quiescesFirst, moment > clock.now { await quiesce() }
        try reserveTime(moment)
        try await run(until: moment)
        await quiesce()
    }

    /// Lets virtual time run at a multiple of real time. A rate of 0 stops the clock.
    package func setRate(_ rate: Double) async throws {
        await acquireTurn()
        defer { releaseTurn() }
        try Self.check(rate: rate)
        try reserveTime(clock.now, runningAt: rate)
        clock.run(rate: rate)
    }

    static func check(rate: Double) throws(SimulatorProblem) {
        guard (0...VirtualClock.rateMax).contains(rate) else {
            throw .badRequest(
                "rate must not be \(rate).", remedy: "Choose 0 to \(Int(VirtualClock.rateMax)).")
        }
    }

    /// Processes what becomes due on a running clock. Returns when its task is cancelled.
    package func runClock() async {
        while !Task.isCancelled {
            if clock.rate > 0 { await processDue() }
            do { try await Task.sleep(for: Self.tick) } catch { break }
        }
        // A simulator that is stopping has no listeners for updates.
        listeners.finish()
        for phone in phones.values { phone.prompts.finish() }
    }

    private func processDue() async {
        await acquireTurn()
        if let trouble = await runToPresent() {
            appendToLog(.trouble, [("error", .string(trouble))])
        }
        releaseTurn()
    }

    /// Returns a description of the error, or nil on success. This is a separate function that is
    /// not inlined, because the optimizer of Swift 6.3 crashes if an async function catches errors
    /// of both typed and untyped `throws`.
    @inline(never)
    private func runToPresent() async -> String? {
        let now = clock.now
        do { try reserveTime(now, runningAt: clock.rate) } catch { return "\(error)" }
        do { try await run(until: now) } catch { return error.description }
        return nil
    }

    /// Saves a moment before virtual time passes it. Does nothing if the moment is already saved.
    ///
    /// - Parameter rate: the rate at which the clock runs. For a running clock, saves a later
    ///   moment that covers some real time ahead, so that not every tick must save.
    func reserveTime(_ moment: AppStoreDate, runningAt rate: Double = 0) throws {
        let lead = Int64(Double(Self.leadMilliseconds) * rate)
        guard AppStoreDate(milliseconds: moment.milliseconds + lead / 2) > savedUntil else {
            return
        }
        let later = AppStoreDate(milliseconds: moment.milliseconds + lead)
        try saveTime(later)
        savedUntil = later
    }

    func check(_ moment: AppStoreDate) throws(SimulatorProblem) {
        guard moment >= clock.now, moment <= Self.lastMoment else {
            throw .badRequest(
                "The clock is at \(RFC3339.text(clock.now)) and cannot be set to that time.",
                remedy: "Choose a later time (before 2099), or start again with POST /_sim/reset.")
        }
    }

    /// The latest time of the clock, 2099-01-01: the certificates expire then.
    private static let lastMoment = AppStoreDate(milliseconds: 4_070_908_800_000)
}
