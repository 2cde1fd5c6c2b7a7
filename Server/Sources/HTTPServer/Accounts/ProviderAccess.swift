import Engine
import OpenIDConnect

/// The provider of OpenID Connect at which operators sign in, and what its groups may do here.
package struct ProviderAccess: Sendable {
    package let client: OpenIDClient
    /// The name of the provider on pages.
    package let name: String
    package let roles: GroupRoles
    /// How long a session lasts at most. Then the provider decides again about the person's groups.
    package let sessionLife: Duration
    /// Counts the sign-ins that each network tries to complete.
    let meter = ProviderMeter()

    package init(
        client: OpenIDClient, name: String, roles: GroupRoles, sessionLife: Duration
    ) {
        self.client = client
        self.name = name
        self.roles = roles
        self.sessionLife = sessionLife
    }
}
