import AppStoreFormats

// Clocks, apps, settings and habits of devices.

extension AppStoreSimulator {
    func life(of deviceID: String) throws(SimulatorProblem) -> DeviceLife {
        _ = try world.device(deviceID)
        return world.lives[deviceID] ?? DeviceLife()
    }

    /// Changes data specific to a device, and nothing else in the world. Does not wait for a turn.
    func changeLife(
        of deviceID: String,
        _ change: (inout DeviceLife, AppStoreDate) throws(SimulatorProblem) -> Void
    ) throws(SimulatorProblem) {
        var life = try life(of: deviceID)
        try change(&life, clock.now)
        world.lives[deviceID] = life
    }

    /// Installs, updates or replaces the app on a device. The app is launched again after each of
    /// these changes.
    func changeApp(_ change: AppChange, on deviceID: String) async throws {
        let (device, _) = try await perform { world, now throws(SimulatorProblem) in
            (try world.changeApp(change, on: deviceID, at: now), [])
        }
        listeners.move(device)
    }

    /// Signs the account out. Until another account signs in, the device has no purchases and buys
    /// nothing.
    func signOut(on deviceID: String) async throws {
        let (device, _) = try await perform { world, _ throws(SimulatorProblem) in
            var device = try world.device(deviceID)
            device.account = Account.Key(name: "", environment: device.account.environment)
            world.devices[deviceID] = device
            return (device, [])
        }
        listeners.move(device)
    }

    /// The result of every order on a device that cannot buy. Returns nil if the device can buy.
    func obstacle(on deviceID: String) throws(SimulatorProblem) -> PurchaseOutcome? {
        if try !life(of: deviceID).canMakePayments {
            return .failed(StoreKitFailure.purchaseNotAllowed.rawValue)
        }
        // The device asks for a password, and no password is entered.
        return try world.device(deviceID).isSignedOut ? .cancelled : nil
    }

    /// Whether a read on a device is empty because the app was just launched. Counts the read.
    func isEmptyAfterLaunch(on deviceID: String) -> Bool {
        world.lives[deviceID]?.consumeEmptyRead() ?? false
    }

    func has(_ habit: DeviceHabit, on deviceID: String) -> Bool {
        world.lives[deviceID]?.habits.contains(habit) ?? false
    }

    /// Whether a device lists no entitlements, because its calendar is not the Gregorian one.
    func hidesEntitlements(on deviceID: String) -> Bool {
        has(.emptyEntitlementsInOtherCalendars, on: deviceID)
            && world.lives[deviceID]?.calendar != DeviceLife.gregorian
    }

    /// The statuses that a device returns: with the habit `staleStatuses`, always the statuses of
    /// its first read after the launch.
    func stale(_ statuses: [SignedStatus], on deviceID: String) -> [SignedStatus] {
        guard has(.staleStatuses, on: deviceID) else { return statuses }
        if let first = world.lives[deviceID]?.firstStatuses { return first }
        world.lives[deviceID]?.firstStatuses = statuses
        return statuses
    }
}

// MARK: - Documents

extension AppStoreSimulator {
    /// A transaction's payload for the app on a device.
    func addressed(_ payload: TransactionPayload, to deviceID: String) -> TransactionPayload {
        guard let app = world.lives[deviceID]?.app else { return payload }
        var payload = payload
        payload.bundleId = app.bundleID ?? payload.bundleId
        if app.source == .xcode { payload.environment = .xcode }
        return payload
    }

    /// A renewal info's payload for the app on a device.
    func addressed(_ payload: RenewalPayload, to deviceID: String) -> RenewalPayload {
        guard world.lives[deviceID]?.app.source == .xcode else { return payload }
        var payload = payload
        payload.environment = .xcode
        return payload
    }

    /// An app transaction's payload for the app on a device.
    func addressed(_ payload: AppTransactionPayload, to deviceID: String) -> AppTransactionPayload {
        guard let app = world.lives[deviceID]?.app else { return payload }
        var payload = payload
        payload.applicationVersion = app.version
        payload.bundleId = app.bundleID ?? payload.bundleId
        if payload.appAppleId != nil { payload.appAppleId = app.appAppleID ?? payload.appAppleId }
        if app.source == .xcode { payload.receiptType = .xcode }
        return payload
    }
}

extension Device {
    var isSignedOut: Bool { account.name.isEmpty }
}

extension World {
    /// The name of the account to which a person's purchases belong if they are made in the app on
    /// a device. Purchases in other apps, and those made in Xcode, are not reported to the server.
    mutating func accountName(_ person: String, on deviceID: String) -> String {
        let suffix = lives[deviceID]?.app.accountSuffix ?? ""
        if !suffix.isEmpty { unreportedAccounts.insert(person + suffix) }
        return person + suffix
    }

    /// Replaces the app on a device, with the account that its purchases belong to.
    fileprivate mutating func changeApp(
        _ change: AppChange, on deviceID: String, at now: AppStoreDate
    ) throws(SimulatorProblem) -> Device {
        let before = try device(deviceID)
        var life = lives[deviceID] ?? DeviceLife()
        let person = before.account.name.dropLast(life.app.accountSuffix.count)
        life.app.version = change.version ?? life.app.version
        life.app.source = change.source ?? life.app.source
        if let id = change.bundleID {
            life.app.bundleID = id == settings.bundleID ? nil : id
            life.app.appAppleID = life.app.bundleID == nil ? nil : settings.appAppleID + 1
        }
        if life.app.bundleID != nil {
            life.app.appAppleID = change.appAppleID ?? life.app.appAppleID
        }
        if change.reinstalls { life.app.reinstallCount += 1 }
        life.launch()
        lives[deviceID] = life
        var device = before
        if !before.isSignedOut {
            let name = accountName(String(person), on: deviceID)
            device = try move(before, to: name, change.source, at: now)
        }
        if let version = change.originalVersion { originalVersions[device.account] = version }
        return device
    }

    /// Moves a device to the account and environment of its app.
    private mutating func move(
        _ before: Device, to name: String, _ source: InstalledApp.Source?, at now: AppStoreDate
    ) throws(SimulatorProblem) -> Device {
        var device = before
        switch source {
        case .store?:
            (device.account, device.pace) = (
                .init(name: name, environment: .production), .realTime
            )
        case .testFlight?:
            (device.account, device.pace) = (.init(name: name, environment: .sandbox), .testFlight)
        case .xcode?:
            (device.account, device.pace) = (
                .init(name: name, environment: .sandbox), settings.sandboxPace
            )
        case nil: break
        }
        devices[device.id] = device
        return try signIn(name, on: device.id, storefront: nil, at: now)
    }
}

extension SimulatorProblem {
    static let signedOut = Self(
        "signed_out", "No account is signed in on this device.",
        remedy: "POST /_sim/devices/{id}/account {\"account\": \"anna\"}")
}
