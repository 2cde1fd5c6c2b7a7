import Engine
import PerennialContract

/// Problems that only pages of the dashboard report, and no route of the HTTP API.
extension ProblemCatalogue {
    static let pageEntries: [Entry] = [
        Entry(
            .formOutdated, .forbidden, "The form is of another session.",
            remedy: "Load the page again, and send the form once more."),
        Entry(
            .operatorUnknown, .notFound, "There is no account with this name.",
            remedy: "Use a name from the team's list."),
        Entry(
            .operatorNotValid, .badRequest, "The account was not changed.",
            remedy: "Change what the detail names, and try again."),
        Entry(
            .operatorLinkUnknown, .notFound, "This link does not work, or does not work any more.",
            remedy: "A link works once, within three days. Ask an admin for another one."),
        .roleNotEnough("admin of every app"),
    ]
}

extension ProblemCatalogue.Entry {
    static func roleNotEnough(_ role: String) -> Self {
        Self(
            .roleNotEnough, .forbidden, "Your role may not do that.",
            remedy: "Ask a user with the role \(role).")
    }
}

extension ProblemCode {
    static let formOutdated = Self(rawValue: "form_outdated")
}
