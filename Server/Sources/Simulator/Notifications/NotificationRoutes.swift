import AppStoreFormats

// Notifications that do not come from a purchase, and the quirks that a world can have.

extension SimulatorRoute {
    static let announcementRoutes = [
        post(
            "/_sim/notifications", "Sends a notification that does not come from a purchase.",
            announcementFields, gives: .json("ToldTurn")
        ) { simulator, call in
            .json(try await simulator.emit(call.body).json)
        },
        get(
            "/_sim/habits", "Lists deviations from Apple's documentation, and which are on.",
            gives: .json("Habits")
        ) { simulator, _ in
            .json(["habits": .array(await simulator.quirksJSON)])
        },
    ]

    private static let announcementFields = [
        Field("type", "string", "TEST, EXTERNAL_PURCHASE_TOKEN or RESCIND_CONSENT."),
        Field(
            "subtype", "string",
            "For tokens: UNREPORTED (default), CREATED or ACTIVE_TOKEN_REMINDER."),
        Field("token_type", "string", "SERVICES, ACQUISITION or CORE_TECHNOLOGY."),
        Field("account", "string", "The account whose consent is withdrawn."),
        Field("environment", "string", "production (default) or sandbox."),
    ]

    private static let sandboxMinutes = Pace.Speed.allCases.filter { $0.rawValue >= 60 }

    /// A sandbox device's pace, read from the body. Nil means the world's pace.
    static func pace(_ body: RequestBody) throws(SimulatorProblem) -> Pace? {
        try body.bool("testflight") == true ? .testFlight : pace(body, "renewal_minutes")
    }

    static func pace(_ body: RequestBody, _ field: String) throws(SimulatorProblem) -> Pace? {
        guard let minutes = try body.integer(field) else { return nil }
        guard let speed = sandboxMinutes.first(where: { Int64($0.rawValue) == minutes * 60 }) else {
            throw RequestBody.invalidField(field, "3, 5, 15, 30 or 60")
        }
        return .monthly(speed)
    }

    /// The quirks in a reset's body, such as `{"expired_never_sent": true}`. Quirks that the body
    /// does not name keep their value.
    static func quirks(
        _ body: RequestBody, from old: Set<Quirk>
    ) throws(SimulatorProblem) -> Set<Quirk> {
        guard let json = body.value("habits") else { return old }
        let part = try RequestBody(
            json, known: Quirk.allCases.map(\.rawValue), place: "habits")
        var habits = old
        for habit in Quirk.allCases {
            switch try part.bool(habit.rawValue) {
            case true?: habits.insert(habit)
            case false?: habits.remove(habit)
            case nil: break
            }
        }
        return habits
    }
}

extension AppStoreSimulator {
    private enum Announcement: String, CaseIterable {
        case test = "TEST"
        case externalPurchaseToken = "EXTERNAL_PURCHASE_TOKEN"
        case rescindConsent = "RESCIND_CONSENT"
    }

    fileprivate func emit(_ body: RequestBody) async throws -> NotificationDraft {
        guard let type = try body.word("type", Announcement.self) else {
            throw SimulatorProblem.badRequest(
                "The field type is missing.", remedy: "Send {\"type\": \"TEST\"}.")
        }
        let environment =
            try body.word("environment", SimulatedEnvironment.self) ?? .production
        switch type {
        case .test:
            return try await emit { world, now in world.testNotification(in: environment, at: now) }
        case .externalPurchaseToken:
            let occasion = try body.word("subtype", ExternalTokenOrder.Occasion.self)
            let order = ExternalTokenOrder(
                occasion ?? .unreported, tokenType: try body.string("token_type"))
            return try await emit { world, now in
                world.externalPurchaseToken(order, in: environment, at: now)
            }
        case .rescindConsent:
            let account = try body.requiredString("account")
            return try await emit { world, now throws(SimulatorProblem) in
                try world.rescindConsent(of: account, in: environment, at: now)
            }
        }
    }

    fileprivate var quirksJSON: [JSON] {
        Quirk.allCases.map { habit in
            [
                "name": .string(habit.rawValue), "on": .bool(settings.has(habit)),
                "summary": .string(habit.summary),
            ]
        }
    }
}
