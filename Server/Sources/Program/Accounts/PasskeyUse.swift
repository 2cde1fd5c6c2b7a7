import Engine
import Passkeys
import Yams

/// Whether operators sign in with passkeys.
package enum PasskeyUse: String, Hashable, Sendable, CaseIterable {
    /// Nobody can use a passkey. The password alone is enough, also for operators who have one.
    case off
    case optional
    /// Every operator with a password needs a passkey, too.
    case required
}

extension ConfigurationReader {
    /// Sets where operators use passkeys: at the address of the dashboard, if browsers make
    /// passkeys there.
    mutating func setPasskeys(of dashboard: inout DashboardConfiguration, at node: Node) {
        let isRequired = dashboard.passkeyUse == .required
        guard dashboard.takesPasswords, dashboard.passkeyUse != .off else {
            guard isRequired else { return }
            complain(
                node, "Passkeys are required, but nobody signs in with a password.",
                "Leave out `passkeys: required`, or `passwords: false`: a provider itself decides "
                    + "how people sign in there.")
            return
        }
        guard let site = dashboard.origin.url("").flatMap({ RelyingParty(origin: $0) }) else {
            guard isRequired else { return }
            complain(
                node, "Passkeys are required, but browsers make none at the dashboard's url.",
                "Let url be an https address with a host name, or http://localhost with a port.")
            return
        }
        dashboard.operators.passkeys = PasskeySettings(
            relyingParty: site, areRequired: isRequired)
    }
}
