internal import AccessRules
internal import Foundation
internal import PerennialContract

extension DeviceState {
    /// Takes a person whom the app has named. Nothing of anybody else is left.
    mutating func become(_ person: String) {
        guard isAnonymous || customerID != person else { return }
        forgetCustomer()
        customerID = person
        isAnonymous = false
    }
}

extension Perennial.Configuration {
    /// Whom the app has named, if that may be an id.
    var namedCustomer: String? { customer.flatMap { Engine.mayIdentify($0) ? $0 : nil } }
}

extension Memory {
    /// What is known at the first line after `init`: by one file, and by the signature of the token
    /// in it.
    init(
        launching configuration: Perennial.Configuration, _ stored: StoredState?,
        clock: any DeviceClock
    ) {
        let pinned = configuration.trustedKeys.compactMap {
            SigningKey(id: $0.id, x: $0.x, y: $0.y)
        }
        state = stored?.state ?? DeviceState(keys: KeyRing(pinned: pinned))
        state.words.isTrusted = false
        hasUnreadWords = stored?.hasMore ?? false
        self.clock = ReckonedClock(kept: state.anchor, isProven: stored == nil)
        silentHold = Int64(configuration.silentHold.nanoseconds / 1_000_000)
        if let customer = configuration.namedCustomer { state.become(customer) }
        readToken(now: self.clock.now(by: clock))
    }

    /// Takes the clock of a file that could not be read at the launch. Its other words follow when
    /// they are proven.
    mutating func recall(_ stored: StoredState) {
        let heard = clock.anchor
        clock = ReckonedClock(kept: stored.state.anchor, isProven: false)
        guard let heard else { return }
        clock.anchor(
            signed: heard.signed, monotonic: heard.monotonic, bootID: heard.bootID,
            isContact: !heard.bootID.isEmpty)
    }

    /// Takes the App Store's words from the file if this device wrote it. If not, it forgets them,
    /// and returns false.
    ///
    /// - Parameters:
    ///   - named: whom the app named at the launch. That counts, not who was there before.
    ///   - device: what the device shows.
    mutating func prove(
        _ stored: StoredState, by code: MessageCode, in file: StateFile, named: String?,
        device: any DeviceClock
    ) -> Bool {
        hasUnreadWords = false
        guard var proven = stored.proven(by: code) else {
            state.forgetUnproven()
            clock.distrust()
            readToken(now: clock.now(by: device))
            return false
        }
        clock.confirm()
        if stored.hasMore, let more = try? file.readMore(proven, of: stored.version, code: code) {
            proven = more
        }
        if let named { proven.become(named) }
        state = proven
        readToken(now: clock.now(by: device))
        return true
    }

    /// Takes the newest offerings that this device has: from the cache, or from the app's bundle.
    /// Returns whether the cache's are proven, and were taken.
    mutating func readOfferings(bundled: URL?, _ cached: CatalogueFile.Catalogue?) -> Bool {
        let bundled = bundled.flatMap { try? Data(contentsOf: $0) }
            .flatMap(Offerings.init(json:))
        // The bundle is signed by Apple with the app. The cache has to prove itself.
        offerings = bundled.flatMap { $0.environment == contractEnvironment ? $0 : nil }
        guard let text = cached?.offerings, let signed = verify(offerings: text) else {
            return false
        }
        offerings = signed.offerings
        return true
    }

    /// Nil if no key that this device trusts has signed them for this app.
    func verify(offerings text: String) -> SignedOfferings? {
        SignedOfferings(
            text, by: state.keys,
            audience: Audience(app: state.app, environment: contractEnvironment))
    }

    /// Takes the kept token as the server's word, if one of our keys has signed it.
    mutating func readToken(now: Timestamp) {
        guard let text = state.token, let id = state.customerID else { return }
        let expected = CustomerToken.Expectation(
            audience: Audience(app: state.app, environment: contractEnvironment),
            customerIDs: [id], now: now)
        guard let token = CustomerToken(text, by: state.keys, expected: expected) else { return }
        lastToken = max(lastToken ?? token.asOf, token.asOf)
        var word = token.serverWord
        for (name, note) in state.closed where word.rights[name] == nil {
            word.rights[name] = ServerWord.Right(
                isActive: false, state: note.state, until: note.until)
        }
        if serverWord?.isLive != true { serverWord = word }
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
