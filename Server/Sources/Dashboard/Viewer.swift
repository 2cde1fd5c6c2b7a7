/// The person who looks at a page.
package struct Viewer: Hashable, Sendable {
    package var name: String
    package var role: Role
    /// The value of the hidden field `csrf` of every form that changes something.
    package var csrf: String
    /// Whether they may invite others, and change what others may do.
    package var managesOperators: Bool
    /// Whether they have signed in, and so have a password and sessions.
    package var hasSession: Bool

    package enum Role: String, Sendable, CaseIterable {
        /// Sees no acts, no secrets and nothing that was signed.
        case viewer
        /// Also helps customers.
        case support
        /// Also changes where events are sent.
        case admin
    }

    package init(
        name: String, role: Role, csrf: String, managesOperators: Bool = false,
        hasSession: Bool = false
    ) {
        self.name = name
        self.role = role
        self.csrf = csrf
        self.managesOperators = managesOperators
        self.hasSession = hasSession
    }

    package var mayHelp: Bool { role != .viewer }
    /// Whether they read why support gave, moved or kept something.
    package var seesReasons: Bool { role != .viewer }
    var mayConfigure: Bool { role == .admin }
    var seesDocuments: Bool { role != .viewer }
}
