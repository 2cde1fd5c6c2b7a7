import AppStoreFormats

/// A device's connection to the App Store.
enum NetworkState: String, Hashable, Sendable, CaseIterable {
    case online
    case offline
    /// The network delays every call to the store.
    case slow
    /// A network in which a login portal responds instead of the store.
    case captive

    /// Seconds of real time by which a slow network delays a call, unless another delay is set.
    static let slowSecondsDefault = 5.0
    /// The maximum delay. A minute is more than any client waits.
    static let slowSecondsMax = 60.0

    var reachesStore: Bool {
        switch self {
        case .online, .slow: true
        case .offline, .captive: false
        }
    }

    /// The code of Foundation's `URLError` for the state: not connected to the Internet, timed out,
    /// or secure connection failed.
    var urlError: Int64 {
        switch self {
        case .online, .offline: -1009
        case .slow: -1001
        case .captive: -1200
        }
    }
}

extension AppStoreSimulator {
    /// Changes a device's network. When the device loses the connection to the store, the device's
    /// data stays unchanged. When the device reaches the store again, its app learns of everything
    /// that has happened since.
    func setNetwork(
        _ network: NetworkState, slowSeconds: Double?, on deviceID: String
    ) async throws {
        let finished = phones[deviceID]?.finished ?? []
        let ((cache, device), _) = try await perform { world, now throws(SimulatorProblem) in
            let device = try world.device(deviceID)
            if network.reachesStore { world.finished.formUnion(finished) }
            return ((DeviceCache(world: world, at: now), device), [])
        }
        var phone = phones[deviceID] ?? Phone()
        phone.network = network
        phone.slowSeconds = slowSeconds ?? phone.slowSeconds
        phone.cache = network.reachesStore ? nil : phone.cache ?? cache
        phones[deviceID] = phone
        let events = listeners.setHolding(!network.reachesStore, on: device)
        record(delivered: events, on: deviceID)
    }

    /// Waits as a slow network does. If the client disconnects meanwhile, the call is still
    /// processed.
    func delayAnswer(on deviceID: String) async {
        try? await Task.sleep(for: .seconds(phones[deviceID]?.slowSeconds ?? 0))
    }
}
