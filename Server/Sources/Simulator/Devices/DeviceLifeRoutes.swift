import AppStoreFormats

// A device's clock, app, settings and habits.

extension SimulatorRoute {
    static let deviceLifeRoutes = [
        get(
            "/_sim/devices/{id}", "A device: who is signed in, its clock, app, settings, habits.",
            gives: .json("DeviceState")
        ) { simulator, call in
            .json(try await simulator.deviceJSON(call.parameter("id")))
        },
        get("/_sim/devices/{id}/clock", "The device's own clock.", gives: .json("DeviceClock")) {
            simulator, call in
            .json(try await simulator.clockJSON(of: call.parameter("id")))
        },
        post(
            "/_sim/devices/{id}/clock", "The customer sets the device's clock.", clockFields,
            gives: .json("DeviceClock")
        ) { simulator, call in
            let id = try call.parameter("id")
            let calendar = StoreCalendar()
            try await simulator.changeLife(of: id) { life, now throws(SimulatorProblem) in
                try life.clock.change(call.body, calendar, at: now)
            }
            return .json(try await simulator.clockJSON(of: id))
        },
        post(
            "/_sim/devices/{id}/reboot", "The device and the app restart.", [],
            gives: .json("DeviceClock")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.changeLife(of: id) { life, now in
                life.clock.restart(at: now)
                life.launch()
            }
            return .json(try await simulator.clockJSON(of: id))
        },
        get("/_sim/devices/{id}/app", "The app on the device.", gives: .json("InstalledApp")) {
            simulator, call in
            .json(try await simulator.appJSON(on: call.parameter("id")))
        },
        post(
            "/_sim/devices/{id}/app", "Updates, exchanges or reinstalls the app.", appFields,
            gives: .json("InstalledApp")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.changeApp(AppChange(call.body), on: id)
            return .json(try await simulator.appJSON(on: id))
        },
        post(
            "/_sim/devices/{id}/launch", "The app is launched again.", [],
            gives: .json("InstalledApp")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.changeLife(of: id) { life, _ in life.launch() }
            return .json(try await simulator.appJSON(on: id))
        },
        post(
            "/_sim/devices/{id}/settings", "Changes the device's settings.",
            [
                Field("can_make_payments", "boolean", "Whether restrictions allow purchases."),
                Field("calendar", "string", "Such as gregorian (default), buddhist, japanese."),
            ], gives: .json("DeviceState")
        ) { simulator, call in
            let id = try call.parameter("id")
            let (allows, calendar) = (
                try call.body.bool("can_make_payments"), try call.body.string("calendar")
            )
            try await simulator.changeLife(of: id) { life, _ in
                life.canMakePayments = allows ?? life.canMakePayments
                life.calendar = calendar ?? life.calendar
            }
            return .json(try await simulator.deviceJSON(id))
        },
        post(
            "/_sim/devices/{id}/habits", "Switches habits of the device on or off.",
            DeviceHabit.allCases.map { Field($0.rawValue, "boolean", $0.summary) } + [
                Field("empty_reads_at_launch", "integer", "The number of empty reads, up to 1000.")
            ], gives: .json("DeviceState")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.changeLife(of: id) { life, _ throws(SimulatorProblem) in
                try life.changeHabits(call.body)
            }
            return .json(try await simulator.deviceJSON(id))
        },
    ]

    private static let clockFields = [
        Field("set", "string", "The time that the clock shows from now on, RFC 3339."),
        Field("forward", "string", "How far the clock is moved, an ISO 8601 duration."),
        Field("back", "string", "How far the clock is moved back, an ISO 8601 duration."),
        Field("automatic", "boolean", "True: the clock shows the App Store's time again."),
    ]

    private static let appFields = [
        Field("version", "string", "The version that is installed, such as 2.0."),
        Field("original_version", "string", "The version that the account had first."),
        Field("source", "string", "store, testflight or xcode."),
        Field("bundle_id", "string", "The bundle id of another app, or of the world's own app."),
        Field("app_apple_id", "integer", "The Apple id of another app; by default the next one."),
        Field("reinstall", "boolean", "True: the app was deleted, and is installed again."),
    ]
}

extension DeviceClock {
    fileprivate mutating func change(
        _ body: RequestBody, _ calendar: StoreCalendar, at now: AppStoreDate
    ) throws(SimulatorProblem) {
        let shown = reading(at: now)
        let moment = try body.time("set")
        let forward = try body.duration("forward").map { calendar.moment(shown, plus: $0) }
        let back = try body.duration("back").map { duration in
            let length = calendar.moment(shown, plus: duration).milliseconds - shown.milliseconds
            return AppStoreDate(milliseconds: shown.milliseconds - length)
        }
        let isAutomatic = try body.bool("automatic") ?? false
        let wishes = [moment, forward, back].compactMap { $0 }
        guard wishes.count + (isAutomatic ? 1 : 0) == 1 else {
            throw .badRequest(
                "A device's clock is changed in one way at a time.",
                remedy: "Send one of set, forward, back and automatic.")
        }
        if let wish = wishes.first { try set(to: wish, at: now) } else { synchronize() }
    }
}

extension AppChange {
    fileprivate init(_ body: RequestBody) throws(SimulatorProblem) {
        self.init(
            version: try body.string("version"),
            originalVersion: try body.string("original_version"),
            source: try body.word("source", InstalledApp.Source.self),
            bundleID: try body.string("bundle_id"),
            appAppleID: try body.integer("app_apple_id"),
            reinstalls: try body.bool("reinstall") ?? false)
    }
}

extension DeviceLife {
    /// Maximum number of reads that are empty after a launch.
    static let emptyReadsMax: Int64 = 1000

    fileprivate mutating func changeHabits(_ body: RequestBody) throws(SimulatorProblem) {
        for habit in DeviceHabit.allCases {
            switch try body.bool(habit.rawValue) {
            case true?: habits.insert(habit)
            case false?: habits.remove(habit)
            case nil: break
            }
        }
        guard let count = try body.integer("empty_reads_at_launch") else { return }
        guard (0...Self.emptyReadsMax).contains(count) else {
            throw RequestBody.invalidField("empty_reads_at_launch", "a number from 0 to 1000")
        }
        emptyReadsAtLaunch = Int(count)
        emptyReadsLeft = Int(count)
    }
}

extension DeviceHabit {
    fileprivate var summary: String {
        switch self {
        case .emptyEntitlementsInOtherCalendars:
            "No entitlements are listed if the calendar is not the Gregorian one."
        case .staleStatuses: "Statuses stay as they were at the first read after the launch."
        case .returnsFirstNonRenewing:
            "A second purchase of a non-renewing subscription returns the first one."
        case .emptyProducts: "No product is found."
        }
    }
}

// MARK: - Answers

extension AppStoreSimulator {
    fileprivate func deviceJSON(_ id: String) throws -> JSON {
        let (device, life) = (try world.device(id), try life(of: id))
        let habits = DeviceHabit.allCases.map { habit in
            JSON.Member(habit.rawValue, .bool(life.habits.contains(habit)))
        }
        return [
            "device_id": .string(id),
            "account": device.isSignedOut ? .null : .string(device.account.name),
            "environment": .string(device.account.environment.rawValue),
            "storefront": .string(device.storefront.country),
            "can_make_payments": .bool(life.canMakePayments), "calendar": .string(life.calendar),
            "clock": try clockJSON(of: id), "app": try appJSON(on: id),
            "habits": .object(habits),
            "empty_reads_left": .integer(Int64(life.emptyReadsLeft)),
        ]
    }

    fileprivate func clockJSON(of deviceID: String) throws -> JSON {
        let (device, now) = (try life(of: deviceID).clock, clock.now)
        let started = device.started ?? settings.now
        return [
            "now": .string(RFC3339.text(device.reading(at: now))),
            "offset_milliseconds": .integer(device.offsetMilliseconds),
            "monotonic_milliseconds": .integer(now.milliseconds - started.milliseconds),
            "boot_id": .string(id("boot", device.startCount, of: deviceID)),
        ]
    }

    fileprivate func appJSON(on deviceID: String) throws -> JSON {
        let (device, app) = (try world.device(deviceID), try life(of: deviceID).app)
        let source: InstalledApp.Source =
            app.source ?? (device.pace == .testFlight ? .testFlight : .store)
        return [
            "bundle_id": .string(app.bundleID ?? settings.bundleID),
            "app_apple_id": .integer(app.appAppleID ?? settings.appAppleID),
            "version": .string(app.version),
            "original_version": .string(world.originalVersion(of: device.account)),
            "source": .string(source.rawValue),
            "installation_id": .string(id("installation", app.reinstallCount, of: deviceID)),
            "launches": .integer(Int64(app.launchCount)),
        ]
    }

    /// A UUID that follows from the world's seed.
    private func id(_ what: String, _ number: Int, of deviceID: String) -> String {
        LegacyDevice.uuidText(
            LegacyDevice.noise(what, settings.seed, "\(deviceID) \(number)", count: 16))
    }
}
