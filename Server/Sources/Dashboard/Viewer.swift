/// The person who looks at a page.
package struct Viewer: Hashable, Sendable {
    package var name: String
    package var role: Role
    /// The value of the hidden field `csrf` of every form that changes something.
    package var csrf: String

    package enum Role: String, Sendable, CaseIterable {
        /// Sees no acts, no secrets and nothing that was signed.
        case viewer
        /// Also helps customers.
        case support
        /// Also changes where events are sent.
        case admin
    }

    package init(name: String, role: Role, csrf: String) {
        self.name = name
        self.role = role
        self.csrf = csrf
    }

    var mayHelp: Bool { role != .viewer }
    var mayConfigure: Bool { role == .admin }
    var seesDocuments: Bool { role != .viewer }
}
