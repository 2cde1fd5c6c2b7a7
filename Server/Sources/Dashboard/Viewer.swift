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
    /// Whether the viewer has the role `viewer` besides the greater role.
    package var isAlsoViewer: Bool

    package enum Role: String, Sendable, CaseIterable {
        /// Sees no acts, no secrets, and no signed content.
        case viewer
        /// Sees no money except the payments of one customer, and may help customers.
        case support
        /// May do everything for the app.
        case admin
    }

    package init(
        name: String, role: Role, csrf: String, managesOperators: Bool = false,
        hasSession: Bool = false, isAlsoViewer: Bool = false
    ) {
        self.name = name
        self.role = role
        self.csrf = csrf
        self.managesOperators = managesOperators
        self.hasSession = hasSession
        self.isAlsoViewer = isAlsoViewer
    }

    package var mayHelp: Bool { role != .viewer }
    /// Whether the viewer sees charts, Apple's reports, and amounts in lists. The payments of one
    /// customer are shown to everybody, because support needs them for questions about refunds.
    package var seesMoney: Bool { role != .support || isAlsoViewer }
    /// Whether the viewer sees the reasons that support gave.
    package var seesReasons: Bool { role != .viewer }
    var mayConfigure: Bool { role == .admin }
    var seesDocuments: Bool { role != .viewer }
}
