import AppStoreFormats

// The routes that show and set the faults that occur from now on.

extension SimulatorRoute {
    static let faultRoutes = [
        get(
            "/_sim/faults", "The armed faults, all known faults, and how often each occurred.",
            gives: .json("Faults")
        ) { simulator, _ in
            .json(await simulator.faults.json)
        },
        post(
            "/_sim/faults", "Arms faults, by probability or once each.", faultFields,
            gives: .json("Faults")
        ) { simulator, call in
            try await simulator.setFaults { faults throws(SimulatorProblem) in
                try faults.read(call.body, at: simulator.clock.now)
            }
            return .json(await simulator.faults.json)
        },
    ]

    private static let faultFields = [
        Field(
            "notifications", "object",
            "Odds {\(names(NotificationFault.self))}; delay_seconds: number or {max}; outage."),
        Field(
            "api", "object",
            "Odds {\(names(APIFault.self))}; slow_seconds, stale_seconds, retry_after_seconds;"
                + " outage."),
        Field("devices", "object", "Odds {\(names(DeviceFault.self))}."),
        Field(
            "next", "object",
            "Faults that occur once each: {notifications, api, devices}, each a name or a list."),
    ]

    private static func names<Kind: FaultKind>(_ kind: Kind.Type) -> String {
        Kind.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

extension Faults {
    /// Applies the settings in a body. Replaces each layer that the body names, with its durations.
    fileprivate mutating func read(
        _ body: RequestBody, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        var new = self
        if let json = body.value("notifications") {
            let part = try RequestBody(
                json, known: Self.fields(NotificationFault.self) + ["delay_seconds", "outage"],
                place: "notifications")
            new.notifications.odds = try part.odds()
            if let delay = try Self.delay(part) {
                new.delay = delay
                // A duration without a probability delays all notifications.
                if part.value("delay") == nil { new.notifications.odds[.delay] = 1 }
            }
            new.notificationOutage = try Self.outage(part, at: now)
        }
        if let json = body.value("api") { try new.readAPI(json, at: now) }
        if let json = body.value("devices") {
            let known = Self.fields(DeviceFault.self)
            new.devices.odds = try RequestBody(json, known: known, place: "devices").odds()
        }
        if let json = body.value("next") { try new.readNext(json) }
        self = new
    }

    private mutating func readAPI(_ json: JSON, at now: AppStoreDate) throws(SimulatorProblem) {
        let lengths = ["slow_seconds", "stale_seconds", "retry_after_seconds", "outage"]
        let part = try RequestBody(
            json, known: Self.fields(APIFault.self) + lengths, place: "api")
        api.odds = try part.odds()
        if let seconds = try part.number("slow_seconds") {
            guard (0...Self.slowSecondsMax).contains(seconds) else {
                throw RequestBody.invalidField(
                    "slow_seconds", "0 to \(Int(Self.slowSecondsMax)) seconds")
            }
            slowSeconds = seconds
        }
        staleSeconds = try Self.seconds("stale_seconds", part) ?? staleSeconds
        retryAfterSeconds = try Self.seconds("retry_after_seconds", part) ?? retryAfterSeconds
        apiOutage = try Self.outage(part, at: now)
    }

    private mutating func readNext(_ json: JSON) throws(SimulatorProblem) {
        let part = try RequestBody(
            json, known: ["notifications", "api", "devices"], place: "next")
        try notifications.order(part.kinds("notifications"))
        try api.order(part.kinds("api"))
        try devices.order(part.kinds("devices"))
    }

    /// The maximum of `slow_seconds`, in real time. A minute is more than any client waits.
    private static let slowSecondsMax = 60.0

    private static func fields<Kind: FaultKind>(_ kind: Kind.Type) -> [String] {
        Kind.allCases.map(\.rawValue)
    }

    private static func seconds(
        _ field: String, _ body: RequestBody
    ) throws(SimulatorProblem) -> Int64? {
        guard let seconds = try body.integer(field) else { return nil }
        guard (0...Delay.secondsMax).contains(seconds) else {
            throw RequestBody.invalidField(field, "0 to \(Delay.secondsMax) seconds")
        }
        return seconds
    }

    private static func delay(_ body: RequestBody) throws(SimulatorProblem) -> Delay? {
        guard let value = body.value("delay_seconds") else { return nil }
        let seconds = value.integer ?? value["max"]?.integer
        guard let seconds, (0...Delay.secondsMax).contains(seconds) else {
            throw RequestBody.invalidField(
                "delay_seconds", "a number of seconds, or {\"max\": seconds}")
        }
        return Delay(seconds: seconds, isMaximum: value.integer == nil)
    }

    private static func outage(
        _ body: RequestBody, at now: AppStoreDate
    ) throws(SimulatorProblem) -> Outage? {
        guard let json = body.value("outage") else { return nil }
        let part = try RequestBody(json, known: ["from", "until", "days"], place: "outage")
        let from = try part.time("from") ?? now
        var until = try part.time("until")
        if let days = try part.integer("days"), (0...Outage.daysMax).contains(days) {
            let length = days * RFC3339.millisecondsPerDay
            until = AppStoreDate(milliseconds: from.milliseconds + length)
        }
        guard let until, from < until else {
            throw RequestBody.invalidField(
                "outage", "{\"days\": 1 to \(Outage.daysMax)}, or {\"from\", \"until\"}")
        }
        return Outage(from: from, until: until)
    }
}

extension RequestBody {
    fileprivate func odds<Kind: FaultKind>() throws(SimulatorProblem) -> [Kind: Double] {
        var odds: [Kind: Double] = [:]
        for kind in Kind.allCases { odds[kind] = try self.odds(kind.rawValue) }
        return odds
    }

    /// The kinds in a field that contains one name or a list of names.
    fileprivate func kinds<Kind: FaultKind>(_ field: String) throws(SimulatorProblem) -> [Kind] {
        guard let value = value(field) else { return [] }
        var kinds: [Kind] = []
        for name in value.array ?? [value] {
            guard let kind = name.string.flatMap(Kind.init(rawValue:)) else {
                let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.invalidField("next.\(field)", "one of \(names)")
            }
            kinds.append(kind)
        }
        return kinds
    }
}

extension Faults {
    fileprivate var json: JSON {
        var notificationPart = notifications.oddsJSON
        let delay: JSON =
            self.delay.isMaximum
            ? ["max": .integer(self.delay.seconds)] : .integer(self.delay.seconds)
        notificationPart.append(.init("delay_seconds", delay))
        notificationPart.append(.init("outage", notificationOutage?.json ?? .null))
        let lengths: [JSON.Member] = [
            .init("slow_seconds", .decimal("\(slowSeconds)")),
            .init("stale_seconds", .integer(staleSeconds)),
            .init("retry_after_seconds", .integer(retryAfterSeconds)),
            .init("outage", apiOutage?.json ?? .null),
        ]
        return [
            "notifications": .object(notificationPart), "api": .object(api.oddsJSON + lengths),
            "devices": .object(devices.oddsJSON),
            "next": [
                "notifications": notifications.orderedJSON, "api": api.orderedJSON,
                "devices": devices.orderedJSON,
            ],
            "struck": [
                "notifications": notifications.struckJSON, "api": api.struckJSON,
                "devices": devices.struckJSON,
            ],
            "known": [
                "notifications": Self.known(NotificationFault.self),
                "api": Self.known(APIFault.self), "devices": Self.known(DeviceFault.self),
            ],
        ]
    }

    private static func known<Kind: FaultKind>(_ kind: Kind.Type) -> JSON {
        .object(Kind.allCases.map { JSON.Member($0.rawValue, .string($0.summary)) })
    }
}
