import AppStoreFormats

// The world as a whole: its beginning, its clock, its faults.

extension SimulatorRoute {
    /// Bytes of a body that carries a shop.
    static let shopBytesMax = 4_194_304

    static let worldRoutes = [
        get("/_sim/health", "Whether the simulator runs.") { simulator, _ in
            .json(["status": "ok", "now": .string(RFC3339.text(simulator.clock.now))])
        },
        get("/_sim/root.cer", "The root certificate (DER) that everything is signed under.") {
            simulator, _ in
            .bytes(simulator.rootDER, type: "application/pkix-cert")
        },
        get("/_sim/openapi.json", "This description.") { _, _ in .json(OpenAPI.document) },
        post(
            "/_sim/reset", "Begins a new world. What is not named is as it was.",
            resetFields + ShopBody.fields,
            bodyBytesMax: shopBytesMax
        ) {
            simulator, call in
            try await simulator.reset(settings(call.body, from: simulator.settings))
            return .json(await simulator.resetJSON(warnings: ShopBody.warnings(call.body)))
        },
        get("/_sim/clock", "The virtual time.") { simulator, _ in
            .json(await simulator.clockJSON)
        },
        post(
            "/_sim/clock",
            "Moves the clock, or lets it run. Answers when all that fell due is done.", clockFields
        ) {
            simulator, call in
            try await simulator.moveClock(call.body)
            return .json(await simulator.clockJSON)
        },
        post("/_sim/faults", "What goes wrong with notifications from now on.", faultFields) {
            simulator, call in
            .json(try await simulator.setFaults(call.body))
        },
    ]

    private static let resetFields = [
        Field("seed", "integer", "Everything random comes from it."),
        Field("now", "string", "The time to begin at, RFC 3339."),
        Field("notification_url", "string", "Where notifications are posted; null posts none."),
        Field("app", "object", "{bundle_id, app_apple_id}"),
        Field("grace_days", "integer", "Days of billing grace, 0 to 28; 0 is none."),
        Field(
            "grace_for_paid_only", "boolean", "Whether a free trial's end has no grace after it."),
        Field(
            "sandbox_renewal_minutes", "integer",
            "How long a month is in the sandbox: 3, 5 (default), 15, 30 or 60."),
        Field(
            "refund_decision_hours", "integer",
            "From a request for a refund to Apple's decision; 48 by default."),
        Field("habits", "object", "{name: true}; GET /_sim/habits lists them."),
        Field(
            "renews_early_seconds", "integer", "How long before its period a renewal is charged."),
        Field("stops_retrying_at_400", "boolean", "Whether the answer 400 ends the attempts."),
        Field(
            "upgrade_sets_revocation_date", "boolean",
            "Whether an upgraded transaction shows its prorated refund."),
    ]

    private static let clockFields = [
        Field("advance", "string", "An ISO 8601 duration such as P31D, P1M or PT1H30M."),
        Field("set", "string", "A later time, RFC 3339."),
        Field("rate", "number", "Virtual per real time; 0 stops the clock."),
    ]

    private static let faultFields = [
        Field(
            "notifications", "object",
            "Odds {drop, duplicate, delay, reorder}, and delay_seconds: a number or {max}."),
        Field("next", "object", "{notifications: drop, duplicate, delay or reorder}, once."),
    ]

    private static func settings(
        _ body: RequestBody, from old: SimulatorSettings
    ) throws -> SimulatorSettings {
        var settings = old
        if let seed = try body.integer("seed") { settings.seed = UInt64(bitPattern: seed) }
        settings.now = try body.time("now") ?? old.now
        try ShopBody.read(body, into: &settings)
        if let url = try body.string("notification_url") { settings.notificationURL = url }
        if body.isNull("notification_url") { settings.notificationURL = nil }
        if let app = body.value("app") {
            let app = try RequestBody(app, known: ["bundle_id", "app_apple_id"], place: "app")
            settings.bundleID = try app.string("bundle_id") ?? old.bundleID
            settings.appAppleID = try app.integer("app_apple_id") ?? old.appAppleID
        }
        if let days = try body.integer("grace_days") {
            guard let days = Int(exactly: days), SimulatorSettings.graceDaysRange.contains(days)
            else { throw RequestBody.wrong("grace_days", "a number from 0 to 28") }
            settings.graceDays = days
        }
        if let seconds = try body.integer("renews_early_seconds") {
            guard (0...SimulatorSettings.renewsEarlySecondsMax).contains(seconds) else {
                throw RequestBody.wrong("renews_early_seconds", "a number from 0 to 86400")
            }
            settings.renewsEarlySeconds = seconds
        }
        settings.graceForPaidOnly =
            try body.bool("grace_for_paid_only") ?? old.graceForPaidOnly
        if let pace = try pace(body, "sandbox_renewal_minutes") { settings.sandboxPace = pace }
        if let hours = try body.integer("refund_decision_hours") {
            guard (0...SimulatorSettings.refundDecisionHoursMax).contains(hours) else {
                throw RequestBody.wrong("refund_decision_hours", "a number from 0 to 720")
            }
            settings.refundDecisionHours = hours
        }
        settings.habits = try habits(body, from: old.habits)
        settings.stopsRetryingAt400 =
            try body.bool("stops_retrying_at_400") ?? old.stopsRetryingAt400
        settings.upgradeSetsRevocationDate =
            try body.bool("upgrade_sets_revocation_date") ?? old.upgradeSetsRevocationDate
        return settings
    }
}

extension AppStoreSimulator {
    var clockJSON: JSON {
        let rate = clock.rate
        return [
            "now": .string(RFC3339.text(clock.now)),
            "rate": rate == rate.rounded() ? .integer(Int64(rate)) : .decimal("\(rate)"),
        ]
    }

    /// The new world's clock, and what is odd in its shop.
    fileprivate func resetJSON(warnings: [String]) -> JSON {
        .object(
            (clockJSON.members ?? [])
                + [JSON.Member("warnings", SimulatorRoute.texts(warnings))])
    }

    fileprivate func moveClock(_ body: RequestBody) async throws {
        let moment = try body.time("set")
        let rate = try body.number("rate")
        if let text = try body.string("advance") {
            guard let duration = ISODuration(text) else {
                throw RequestBody.wrong("advance", "a duration such as P31D or PT1H30M")
            }
            try await advance(by: duration)
        }
        if let moment { try await advance(to: moment) }
        if let rate { try await setRate(rate) }
    }

    fileprivate func setFaults(_ body: RequestBody) throws(StoreProblem) -> JSON {
        if let json = body.value("notifications") {
            let fields = ["drop", "duplicate", "delay", "reorder", "delay_seconds"]
            let part = try RequestBody(json, known: fields, place: "notifications")
            let delay = try Self.delay(part)
            // A length alone means: delay them all.
            let delayOdds = try part.odds("delay") ?? (delay == nil ? 0 : 1)
            let odds = Faults.Odds(
                drop: try part.odds("drop") ?? 0, duplicate: try part.odds("duplicate") ?? 0,
                reorder: try part.odds("reorder") ?? 0, delay: delayOdds)
            setFaults(odds, delay: delay)
        }
        if let json = body.value("next") {
            let part = try RequestBody(json, known: ["notifications"], place: "next")
            let names = Faults.Once.allCases.map(\.rawValue).joined(separator: ", ")
            guard let once = Faults.Once(rawValue: try part.requiredString("notifications")) else {
                throw RequestBody.wrong("next.notifications", "one of \(names)")
            }
            setNextFault(once)
        }
        let odds = faults.odds
        return [
            "notifications": [
                "drop": .decimal("\(odds.drop)"), "duplicate": .decimal("\(odds.duplicate)"),
                "delay": .decimal("\(odds.delay)"), "reorder": .decimal("\(odds.reorder)"),
            ]
        ]
    }

    private static func delay(_ body: RequestBody) throws(StoreProblem) -> Faults.Delay? {
        guard let value = body.value("delay_seconds") else { return nil }
        let seconds = value.integer ?? value["max"]?.integer
        guard let seconds, (0...Faults.Delay.secondsMax).contains(seconds) else {
            throw RequestBody.wrong("delay_seconds", "a number of seconds, or {\"max\": seconds}")
        }
        return Faults.Delay(seconds: seconds, isMaximum: value.integer == nil)
    }
}
