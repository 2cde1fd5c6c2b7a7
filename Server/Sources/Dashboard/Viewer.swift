/// The person who looks at a page.
package struct Viewer: Hashable, Sendable {
    package var name: String
    package var role: Role
    /// The value of the hidden field `csrf` of every form that changes something.
    package var csrf: String
    /// Whether the viewer may invite operators, and change their roles.
    package var managesOperators: Bool
    /// Whether the viewer has signed in, and so has a password and sessions.
    package var hasSession: Bool

    package enum Role: String, Sendable, CaseIterable {
        /// Sees no acts, no secrets, and no signed content.
        case viewer
        /// Like a viewer, and may help customers.
        case support
        /// Like support, and may change where events are sent.
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
    /// Whether the viewer sees the reasons that support gave.
    package var seesReasons: Bool { role != .viewer }
    var mayConfigure: Bool { role == .admin }
    var seesDocuments: Bool { role != .viewer }
}
