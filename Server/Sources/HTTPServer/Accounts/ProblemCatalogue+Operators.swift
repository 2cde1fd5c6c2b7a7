import PerennialContract

/// What only pages of the dashboard say, and no route of the HTTP interface.
extension ProblemCatalogue.Entry {
    static let formOutdated = Self(
        ProblemCode(rawValue: "form_outdated"), .forbidden, "The form is of another session.",
        remedy: "Load the page again, and send the form once more.")

    static func roleNotEnough(_ role: String) -> Self {
        Self(
            ProblemCode(rawValue: "role_not_enough"), .forbidden, "Your role may not do that.",
            remedy: "Ask a user with the role \(role).")
    }

    static let operatorUnknown = Self(
        ProblemCode(rawValue: "operator_unknown"), .notFound, "There is no account with this name.",
        remedy: "Use a name from the team's list.")

    static let operatorNotValid = Self(
        ProblemCode(rawValue: "operator_not_valid"), .badRequest, "The account was not changed.",
        remedy: "Change what the detail names, and try again.")

    static let operatorLinkUnknown = Self(
        ProblemCode(rawValue: "operator_link_unknown"), .notFound,
        "This link does not work, or does not work any more.",
        remedy: "A link works once, within three days. Ask an admin for another one.")
}
