import AppStoreFormats

/// A provider of OpenID Connect, and the registration of this server there as a client.
package struct OpenIDSettings: Hashable, Sendable {
    package static let scopesMax = 20
    /// The maximum length of a group's name, in bytes.
    package static let groupBytesMax = 256

    /// The address by which the provider names itself. Its answers must contain exactly this text.
    package var issuer: ProviderURL
    package var clientID: String
    package var clientSecret: AppSecret
    /// What the provider is asked for; always contains `openid`.
    package var scopes: [String]
    /// The claim of the ID token that lists the groups of a person. Dots lead into objects, as in
    /// `realm_access.roles`, unless a claim has the whole text as its name.
    package var groupsClaim: String
    /// The address to which the provider sends the browser back.
    package var redirectURL: String

    package init(
        issuer: ProviderURL, clientID: String, clientSecret: AppSecret,
        scopes: [String] = ["openid", "profile"], groupsClaim: String = "groups",
        redirectURL: String
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = scopes.contains("openid") ? scopes : ["openid"] + scopes
        self.groupsClaim = groupsClaim
        self.redirectURL = redirectURL
    }
}
