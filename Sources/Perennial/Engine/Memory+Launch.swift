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
        self.clock = ReckonedClock(
            anchor: state.anchor.map {
                ReckonedClock.Anchor(
                    signed: $0.signedAt, monotonic: $0.monotonicMilliseconds, bootID: $0.bootID)
            })
        silentHold = Int64(configuration.silentHold * 1000)
        if let customer = configuration.customer { state.become(customer) }
        readToken(now: self.clock.now(by: clock))
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
