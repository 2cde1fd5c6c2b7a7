import Ledger
import Storage

/// The roles that groups of a provider of OpenID Connect give to operators.
package struct GroupRoles: Hashable, Sendable {
    /// The maximum number of groups with a role.
    package static let groupsMax = 200

    package var byGroup: [String: OperatorRoles]

    package init(_ byGroup: [String: OperatorRoles]) { self.byGroup = byGroup }

    /// The roles of a person in some groups: for each app, and for every app, the greatest role
    /// that a group gives. Empty if no group gives a role.
    package func roles(of groups: Set<String>) -> OperatorRoles {
        var roles = OperatorRoles()
        for group in groups {
            guard let given = byGroup[group] else { continue }
            roles.everywhere = Self.greater(roles.everywhere, given.everywhere)
            for (app, role) in given.byApp {
                roles.byApp[app] = Self.greater(roles.byApp[app], role)
            }
        }
        return roles
    }

    private static func greater(_ one: OperatorRole?, _ other: OperatorRole?) -> OperatorRole? {
        guard let one, let other else { return one ?? other }
        return one.includes(other) ? one : other
    }
}
