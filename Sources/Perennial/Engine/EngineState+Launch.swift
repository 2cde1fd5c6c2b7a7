internal import AccessRules
internal import Foundation
internal import PerennialContract

extension DeviceState {
    /// Switches to a person whom the app has named. Deletes all data of other customers.
    mutating func become(_ person: String) {
        guard isAnonymous || customerID != person else { return }
        forgetCustomer()
        customerID = person
        isAnonymous = false
    }
}

extension Perennial.Configuration {
    /// The customer whom the app has named in the configuration. Nil if the app named no customer,
    /// or if the id is not acceptable.
    var namedCustomer: String? { customer.flatMap { Engine.mayIdentify($0) ? $0 : nil } }
}

extension EngineState {
    /// Creates the state at a launch, from one file and from the token in this file. The token's
    /// signature is verified.
    init(
        launching configuration: Perennial.Configuration, _ stored: StoredState?,
        clock: any DeviceClock
    ) {
        let pinned = configuration.trustedKeys.compactMap {
            SigningKey(id: $0.id, x: $0.x, y: $0.y)
        }
        device = stored?.state ?? DeviceState(keys: KeyRing(pinned: pinned))
        device.storeEvidence.isTrusted = false
        hasUnreadEvidence = stored?.hasMore ?? false
        self.clock = ReckonedClock(kept: device.anchor, isProven: stored == nil)
        silentHold = Int64(configuration.silentHold.nanoseconds / 1_000_000)
        if let customer = configuration.namedCustomer { device.become(customer) }
        readToken(now: self.clock.now(by: clock))
    }

    /// Restores the clock from a file that could not be read at the launch. The other values are
    /// restored later, when the file is proven.
    mutating func recall(_ stored: StoredState) {
        let heard = clock.anchor
        clock = ReckonedClock(kept: stored.state.anchor, isProven: false)
        guard let heard else { return }
        clock.anchor(
            signed: heard.signed, monotonic: heard.monotonic, bootID: heard.bootID,
            isContact: !heard.bootID.isEmpty)
    }

    /// Restores the App Store's evidence from the file if this device wrote the file. Otherwise
    /// discards the evidence and returns false.
    ///
    /// - Parameters:
    ///   - named: the customer whom the app named at the launch. This customer counts instead of
    ///     the stored customer.
    ///   - deviceClock: the time that the device shows.
    mutating func prove(
        _ stored: StoredState, by code: MessageCode, in file: StateFile, named: String?,
        device deviceClock: any DeviceClock
    ) -> Bool {
        hasUnreadEvidence = false
        guard var proven = stored.proven(by: code) else {
            device.forgetUnproven()
            clock.distrust()
            readToken(now: clock.now(by: deviceClock))
            return false
        }
        clock.confirm()
        if stored.hasMore, let more = try? file.readMore(proven, of: stored.version, code: code) {
            proven = more
        }
        if let named { proven.become(named) }
        device = proven
        readToken(now: clock.now(by: deviceClock))
        return true
    }

    /// Reads the newest offerings on this device: from the cache, or from the app's bundle. Returns
    /// whether the cache's offerings are proven and were used.
    mutating func readOfferings(bundled: URL?, _ cached: CatalogueFile.Catalogue?) -> Bool {
        let bundled = bundled.flatMap { try? Data(contentsOf: $0) }
            .flatMap(Offerings.init(json:))
        // Apple has signed the app's bundle. The cache needs a valid signature of the server.
        offerings = bundled.flatMap { $0.environment == contractEnvironment ? $0 : nil }
        guard let text = cached?.offerings, let signed = verify(offerings: text) else {
            return false
        }
        offerings = signed.offerings
        return true
    }

    /// Verifies signed offerings. Returns nil if no key that this device trusts has signed the text
    /// for this app.
    func verify(offerings text: String) -> SignedOfferings? {
        SignedOfferings(
            text, by: device.keys,
            audience: Audience(app: device.app, environment: contractEnvironment))
    }

    /// Uses the stored token as the server's evidence, if a key that this device trusts has signed
    /// it.
    mutating func readToken(now: Timestamp) {
        guard let text = device.token, let id = device.customerID else { return }
        let expected = CustomerToken.Expectation(
            audience: Audience(app: device.app, environment: contractEnvironment),
            customerIDs: [id], now: now)
        guard let token = CustomerToken(text, by: device.keys, expected: expected) else { return }
        lastToken = max(lastToken ?? token.asOf, token.asOf)
        var evidence = token.serverEvidence
        for (name, note) in device.closed where evidence.rights[name] == nil {
            evidence.rights[name] = ServerEvidence.Right(
                isActive: false, state: note.state, until: note.until)
        }
        if serverEvidence?.isLive != true { serverEvidence = evidence }
    }
}

extension ReckonedClock {
    fileprivate init(kept anchor: TimeAnchor?, isProven: Bool) {
        self.init(
            anchor: anchor.map {
                Anchor(
                    signed: $0.signedAt, monotonic: $0.monotonicMilliseconds, bootID: $0.bootID)
            }, isProven: isProven)
    }
}
