import Passkeys

/// Where operators may sign in with passkeys, and whether they must.
package struct PasskeySettings: Hashable, Sendable {
    package var relyingParty: RelyingParty
    /// Whether every operator with a password needs a passkey, too.
    package var areRequired: Bool

    package init(relyingParty: RelyingParty, areRequired: Bool = false) {
        self.relyingParty = relyingParty
        self.areRequired = areRequired
    }
}
