/// A person whom a provider has just signed in, for this server and this sign-in. Only the verifier
/// of ID tokens can make this value.
package struct VerifiedIdentity: Hashable, Sendable {
    /// The issuer and its name for the person identify the person. No other claim does: names and
    /// mail addresses change, and may be given to another person.
    package let issuer: String
    package let subject: String
    package let groups: Set<String>
    /// The names of the person, for people to read: `preferred_username`, `email` and `name`. They
    /// prove nothing.
    package let userName: String?
    package let mail: String?
    package let fullName: String?

    init(
        issuer: String, subject: String, groups: Set<String>, userName: String?, mail: String?,
        fullName: String?
    ) {
        self.issuer = issuer
        self.subject = subject
        self.groups = groups
        self.userName = userName
        self.mail = mail
        self.fullName = fullName
    }
}
