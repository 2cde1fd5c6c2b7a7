import Dice
import Ledger
import Testing

/// Plays a whole ``Life`` in a shop.
extension Shop {
    /// Plays a life on a device that is added for it.
    ///
    /// - Parameters:
    ///   - isCompared: whether to compare the server's answer with the simulator's books after
    ///     each act and each end.
    ///   - afterAct: runs after each act, with words that name the act.
    /// - Returns: the stage at the end of the life.
    @discardableResult
    func play(
        _ life: Life, posting: Stage.Posting = .signed, isCompared: Bool = false,
        afterAct: (inout Stage, String) async throws -> Void = { _, _ in }
    ) async throws -> Stage {
        try await addDevice(Stage.account)
        var stage = Stage(simulator: simulator, server: server)
        stage.posting = posting
        for (number, act) in life.acts.enumerated() {
            let name = "act \(number) \(act)"
            try await stage.play(act) { stage in
                if isCompared { try await stage.compare(name) }
            }
            try await afterAct(&stage, name)
        }
        return stage
    }

    /// Posts each notification twice, in a random order.
    func postTwiceShuffled(_ bodies: [[UInt8]], as story: String) async throws {
        var dice = Dice(announcedBy: story)
        for body in (bodies + bodies).shuffled(using: &dice) {
            let answer = try await server.send("POST", "/apple/notifications", body: body)
            #expect(answer.status == 200)
        }
    }

    /// Expects that a rebuild from the documents changes nothing.
    func expectCleanRebuild() async throws {
        let report = try await engine.maintenance.rebuild(verifyOnly: true)
        #expect(report.isClean, "\(report)")
    }
}

extension Stage {
    /// How long after a life everything is known, even without notifications: ended subscriptions
    /// are checked about every three months.
    private static let latestNews = Duration.days(200)

    func passUntilAllIsKnown() async throws {
        try await set(clock: try await now() + Self.latestNews)
    }

    func expectTruthInTheEnd() async throws {
        try await passUntilAllIsKnown()
        try await compare("at last")
    }
}
