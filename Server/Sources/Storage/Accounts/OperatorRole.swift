import Ledger

/// What an operator may do for an app.
package enum OperatorRole: String, Hashable, Sendable, CaseIterable {
    /// Sees everything except actions, secrets and signed content.
    case viewer
    /// Sees no money except the payments of one customer, and may act for customers.
    case support
    /// May do everything for the app.
    case admin

    /// Whether this role sees charts, Apple's reports, and amounts in lists.
    package var seesMoney: Bool { self != .support }

    /// Whether this role may carry out every act that another role may.
    package func includes(_ other: Self) -> Bool { rank >= other.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .support: 1
        case .admin: 2
        }
    }
}

/// The roles of an operator: one for every app, and others for single apps.
package struct OperatorRoles: Hashable, Sendable {
    /// The maximum number of apps for which an operator has a separate role.
    package static let appsMax = 100

    /// The role for every app, including apps that are configured later.
    package var everywhere: OperatorRole?
    package var byApp: [AppID: OperatorRole]

    package init(everywhere: OperatorRole? = nil, byApp: [AppID: OperatorRole] = [:]) {
        self.everywhere = everywhere
        self.byApp = byApp
    }

    /// Whether the operator may manage operators: only an admin of every app may.
    package var manageOperators: Bool { everywhere == .admin }

    /// Whether the operator sees money in an app: whether the app's separate role or the role for
    /// every app sees it.
    package func seeMoney(in app: AppID) -> Bool {
        [everywhere, byApp[app]].contains { $0?.seesMoney == true }
    }

    package var isEmpty: Bool { everywhere == nil && byApp.isEmpty }

    /// The role for an app: the greater of the app's separate role and the role for every app. Nil
    /// if the operator may not see the app.
    package func role(in app: AppID) -> OperatorRole? {
        guard let own = byApp[app] else { return everywhere }
        guard let everywhere, everywhere.includes(own) else { return own }
        return everywhere
    }
}

extension OperatorRoles: LosslessStringConvertible {
    /// Parses what ``description`` returns. Returns nil for any other text.
    package init?(_ text: String) {
        self.init()
        for part in text.split(separator: " ") {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, let role = OperatorRole(rawValue: String(pair[1])) else {
                return nil
            }
            if pair[0] == "*" {
                everywhere = role
            } else {
                byApp[AppID(rawValue: String(pair[0]))] = role
            }
        }
    }

    /// The roles as text, for example `*=viewer birds=admin`, in which `*` stands for every app.
    package var description: String {
        let all = everywhere.map { ["*=\($0.rawValue)"] } ?? []
        return
            (all
            + byApp.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.key.rawValue)=\($0.value.rawValue)" }).joined(separator: " ")
    }
}
