import AppStoreFormats

// The world as a whole: reset, clock, populations.

extension SimulatorRoute {
    /// Maximum number of bytes of a body that contains a shop.
    static let shopBytesMax = 4_194_304

    static let worldRoutes = [
        get("/_sim/health", "Whether the simulator runs.", gives: .json("Health")) { simulator, _ in
            .json(["status": "ok", "now": .string(RFC3339.text(simulator.clock.now))])
        },
        get(
            "/_sim/root.cer", "The root certificate (DER) that everything is signed under.",
            gives: .bytes(type: "application/pkix-cert")
        ) { simulator, _ in
            .bytes(simulator.rootDER, type: "application/pkix-cert")
        },
        get("/_sim/openapi.json", "This description.", gives: .json("Description")) { _, _ in
            .constant(OpenAPI.document, OpenAPI.body)
        },
        post(
            "/_sim/reset",
            "Begins a new world. Absent fields keep their value; a shop brings its own rules.",
            allResetFields, bodyBytesMax: shopBytesMax, gives: .json("NewWorld")
        ) {
            simulator, call in
            try await simulator.reset(settings(call.body, from: simulator.settings))
            let settings = await simulator.settings
            let seats =
                call.body.value("multi_seat") == nil
                ? [] : settings.rules.seats.warnings(for: settings.shop.products)
            return .json(await simulator.resetJSON(warnings: ShopBody.warnings(call.body) + seats))
        },
        get("/_sim/clock", "The virtual time.", gives: .json("Clock")) { simulator, _ in
            .json(await simulator.clockJSON)
        },
        post(
            "/_sim/clock",
            "Moves the clock, or lets it run. Responds when all that was due is done.", clockFields,
            gives: .json("Clock")
        ) {
            simulator, call in
            try await simulator.moveClock(call.body)
            return .json(await simulator.clockJSON)
        },
        post(
            "/_sim/populations",
            "Adds random customers, who act as the clock advances.",
            [
                Field("accounts", "integer", "How many; 100 by default."),
                Field(
                    "within", "string",
                    "How long they are active, ten years at most; P1Y by default."),
            ], gives: .json("Population")
        ) { simulator, call in
            let within = try call.body.duration("within") ?? .months(12)
            let names = try await simulator.populate(
                Int(clamping: call.body.integer("accounts") ?? 100), within: within)
            return .json(["accounts": .array(names.map { .string($0) })])
        },
    ]

    fileprivate static let allResetFields =
        resetFields + ShopBody.fields + ShopBody.seatFields + SimulatorSettings.apiFields
        + SimulatorSettings.legacyFields + SimulatorSettings.reportFields

    private static let resetFields = [
        Field("seed", "integer", "The seed of everything random."),
        Field("now", "string", "The start time, RFC 3339."),
        Field("notification_url", "string", "Where notifications are posted; null for nowhere."),
        Field("app", "object", "{bundle_id, app_apple_id}"),
        Field("grace_days", "integer", "Days of billing grace period, 0 to 28; 0 is none."),
        Field(
            "grace_for_paid_only", "boolean", "Whether no grace period follows a free trial."),
        Field(
            "sandbox_renewal_minutes", "integer",
            "Minutes of a month in the sandbox: 3, 5 (default), 15, 30 or 60."),
        Field(
            "refund_decision_hours", "integer",
            "From a refund request to Apple's decision; 48 by default."),
        Field("habits", "object", "{name: true}; GET /_sim/habits lists them."),
        Field(
            "renews_early_seconds", "integer", "How long before its period a renewal is charged."),
        Field("stops_retrying_at_400", "boolean", "Whether a 400 response ends the retries."),
        Field(
            "upgrade_sets_revocation_date", "boolean",
            "Whether an upgraded transaction shows its prorated refund."),
        Field(
            "deterministic", "boolean",
            "Whether keys and signatures come from the seed, too; the root then changes."),
    ]

    private static let clockFields = [
        Field(
            "advance", "string",
            "An ISO 8601 duration such as P31D, P1M or PT1H30M, of ten years at most."),
        Field("set", "string", "A later time, RFC 3339."),
        Field("rate", "number", "Virtual time per real time; 0 stops the clock."),
    ]

    fileprivate static func settings(
        _ body: RequestBody, from old: SimulatorSettings
    ) throws -> SimulatorSettings {
        var settings = old
        if let seed = try body.integer("seed") { settings.seed = UInt64(bitPattern: seed) }
        settings.now = try body.time("now") ?? old.now
        try ShopBody.read(body, into: &settings)
        if let url = try body.url("notification_url") { settings.notificationURL = url }
        if body.isNull("notification_url") { settings.notificationURL = nil }
        if let app = body.value("app") {
            let app = try RequestBody(app, known: ["bundle_id", "app_apple_id"], place: "app")
            settings.bundleID = try app.string("bundle_id") ?? old.bundleID
            settings.appAppleID = try app.integer("app_apple_id") ?? old.appAppleID
        }
        if let days = try body.integer("grace_days") {
            guard let days = Int(exactly: days), SimulatorSettings.graceDaysRange.contains(days)
            else { throw RequestBody.invalidField("grace_days", "a number from 0 to 28") }
            settings.graceDays = days
        }
        if let seconds = try body.integer("renews_early_seconds") {
            guard (0...SimulatorSettings.renewsEarlySecondsMax).contains(seconds) else {
                throw RequestBody.invalidField("renews_early_seconds", "a number from 0 to 86400")
            }
            settings.renewsEarlySeconds = seconds
        }
        settings.graceForPaidOnly =
            try body.bool("grace_for_paid_only") ?? settings.graceForPaidOnly
        if let pace = try pace(body, "sandbox_renewal_minutes") { settings.sandboxPace = pace }
        if let hours = try body.integer("refund_decision_hours") {
            guard (0...SimulatorSettings.refundDecisionHoursMax).contains(hours) else {
                throw RequestBody.invalidField("refund_decision_hours", "a number from 0 to 720")
            }
            settings.refundDecisionHours = hours
        }
        settings.quirks = try quirks(body, from: old.quirks)
        settings.stopsRetryingAt400 =
            try body.bool("stops_retrying_at_400") ?? old.stopsRetryingAt400
        settings.upgradeSetsRevocationDate =
            try body.bool("upgrade_sets_revocation_date") ?? old.upgradeSetsRevocationDate
        try settings.readLegacy(body)
        try settings.readReports(body)
        settings.isDeterministic = try body.bool("deterministic") ?? old.isDeterministic
        try settings.readAPI(body)
        return settings
    }
}

extension SimulatorSettings {
    /// Returns these settings as changed by the body of a reset, read from a file.
    ///
    /// - Throws: ``SimulatorProblem`` for an unknown field or an invalid value.
    package func changed(by reset: JSON) throws -> Self {
        let known = SimulatorRoute.allResetFields.map(\.name)
        let body = try RequestBody(reset, known: known, place: "The file")
        return try SimulatorRoute.settings(body, from: self)
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

    /// The new world's clock, and warnings about its shop.
    fileprivate func resetJSON(warnings: [String]) -> JSON {
        .object(
            (clockJSON.members ?? [])
                + [JSON.Member("warnings", SimulatorRoute.texts(warnings))])
    }

    /// Validates everything first: a call that is refused has not moved the clock.
    fileprivate func moveClock(_ body: RequestBody) async throws {
        let moment = try body.time("set")
        let rate = try body.number("rate")
        let duration = try body.duration("advance")
        guard moment == nil || duration == nil else {
            throw SimulatorProblem.badRequest(
                "The body has both `advance` and `set`.", remedy: "Send one of them.")
        }
        if let rate { try Self.check(rate: rate) }
        if let duration { try await advance(by: duration) }
        if let moment { try await advance(to: moment) }
        if let rate { try await setRate(rate) }
    }
}
