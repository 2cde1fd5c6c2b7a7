import ArgumentParser
import Engine
import HTTPServer
import Ledger
import Storage

/// The commands that manage the accounts of the dashboard.
struct OperatorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operators", abstract: "Manage who may use the dashboard.",
        subcommands: [
            OperatorsListCommand.self, OperatorsInviteCommand.self, OperatorsLinkCommand.self,
            OperatorsWithdrawCommand.self, OperatorsBlockCommand.self, OperatorsUnblockCommand.self,
            OperatorsRemovePasskeysCommand.self, OperatorsRecoveryCodesCommand.self,
        ])

    /// The author that the audit names for the acts of these commands.
    static let author = OperatorService.commandAuthor
}

struct OperatorsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the operators, and the links that wait to be used.")

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .inspecting) { engine in
            for account in try await engine.operators.all() { print(account.line) }
            for link in try await engine.operators.links() { print(link.line) }
        }
    }
}

extension Operator {
    /// The operator's line in a list.
    var line: String {
        let signedIn = signedInAt.map { "last signed in \($0.minute)" } ?? "never signed in"
        let block = blockedAt.map { "blocked \($0.minute)" }
        return [name, roles.isEmpty ? "no role" : roles.description, signedIn, block]
            .compactMap(\.self).joined(separator: "  ")
    }
}

extension OperatorLink {
    /// The link's line in a list.
    var line: String {
        let until = "until \(until.minute)"
        return switch kind {
        case .first: "(no name)  *=admin  link for the first account \(until)"
        case .invitation: "\(operatorName ?? "")  \(roles)  invited \(until)"
        case .reset: "\(operatorName ?? "")  link for another password \(until)  by \(author)"
        }
    }
}

struct OperatorsInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print a link that works once and makes an account.")

    @Argument(help: "The name of the account.") var name: String
    @Option(help: "viewer, support, or admin.") var role: OperatorRole
    @Option(help: "The app the role is for. Default: every app.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withDashboard { engine, dashboard in
            var roles = OperatorRoles(everywhere: role)
            if let app {
                roles = OperatorRoles(byApp: [try engine.context.appIDs.app(named: app): role])
            }
            let token = try await engine.operators.invite(
                name, as: roles, by: OperatorsCommand.author)
            print(dashboard.url(ofLink: token))
        }
    }
}

struct OperatorsLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Print a link that works once and sets a new password.",
        discussion: "While there is no account, leave out the name: the link then makes an account."
    )

    @Argument(help: "The name of the account.") var name: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withDashboard { engine, dashboard in
            let token: String
            if let name {
                token = try await engine.operators.resetLink(for: name, by: OperatorsCommand.author)
            } else if let first = try await engine.operators.firstLink() {
                token = first
            } else {
                throw StartFailure(
                    "There are accounts already.",
                    remedy: "Name one of them: `perennial operators list` shows them.")
            }
            print(dashboard.url(ofLink: token))
        }
    }
}

struct OperatorsWithdrawCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "withdraw", abstract: "Take back the links for a name.",
        discussion: "Without a name, the links that make the first account.")

    @Argument(help: "The name that the links are for.") var name: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .modifying) { engine in
            let hadOne = try await engine.operators.withdrawLinks(
                for: name, by: OperatorsCommand.author)
            print(hadOne ? "Taken back." : "There was no link.")
        }
    }
}

struct OperatorsBlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "End all sessions of an operator, and refuse new ones.")

    @Argument(help: "The name of the account.") var name: String
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .modifying) { engine in
            try await engine.operators.setBlock(true, of: name, by: OperatorsCommand.author)
            print("Blocked: \(try await engine.operators.named(name).line)")
        }
    }
}

struct OperatorsUnblockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unblock", abstract: "Let a blocked operator sign in again.")

    @Argument(help: "The name of the account.") var name: String
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .modifying) { engine in
            try await engine.operators.setBlock(false, of: name, by: OperatorsCommand.author)
            print("Unblocked: \(try await engine.operators.named(name).line)")
        }
    }
}

struct OperatorsRemovePasskeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-passkeys",
        abstract: "Remove all passkeys and recovery codes of an operator.",
        discussion: "For somebody who lost them. The operator then signs in with the password.")

    @Argument(help: "The name of the account.") var name: String
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .modifying) { engine in
            let count = try await engine.passkeys.removeAll(
                of: name, by: OperatorsCommand.author)
            print(count == 0 ? "There was no passkey." : "Passkeys removed: \(count)")
        }
    }
}

struct OperatorsRecoveryCodesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-codes",
        abstract: "Print new recovery codes for an operator who has a passkey.",
        discussion: "Each code works once, after the password. Former codes end.")

    @Argument(help: "The name of the account.") var name: String
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await options.withEngine(for: .modifying) { engine in
            let codes = try await engine.passkeys.makeRecoveryCodes(
                of: name, by: OperatorsCommand.author)
            print(codes.joined(separator: "\n"))
        }
    }
}

extension OperatorRole: ExpressibleByArgument {}

extension DatabaseOptions {
    /// Runs a command on the engine of a database. Prints a refusal as a sentence.
    fileprivate func withEngine(
        for purpose: Assembly.Purpose, _ body: (Engine) async throws -> Void
    ) async throws {
        try await Outcome.reportingFailures { try await run(for: purpose, body) }
    }

    /// Runs a command that prints a link to the dashboard. Refuses if there is no dashboard.
    fileprivate func withDashboard(
        _ body: (Engine, DashboardConfiguration) async throws -> Void
    ) async throws {
        try await Outcome.reportingFailures {
            let dashboard = try requireDashboard()
            try await run(for: .modifying) { try await body($0, dashboard) }
        }
    }

    private func run(
        for purpose: Assembly.Purpose, _ body: (Engine) async throws -> Void
    ) async throws {
        let assembly = try await assembly(for: purpose)
        defer { assembly.database.close() }
        do { try await body(assembly.engine) } catch let failure as EngineFailure {
            throw StartFailure(
                "Nothing was changed: \(failure)", remedy: "Run `perennial operators list`.")
        }
    }

    private func requireDashboard() throws -> DashboardConfiguration {
        guard data == nil else {
            throw StartFailure(
                "The dashboard of `perennial dev` has no accounts.",
                remedy: "Open it without signing in. For a server leave out --data.")
        }
        guard let dashboard = try configurationFile().dashboard else {
            throw StartFailure(
                "The configuration has no dashboard, so a link would lead nowhere.",
                remedy: "Add `dashboard:` with the `url:` at which browsers reach it. "
                    + "docs/dashboard.md says how.")
        }
        return dashboard
    }
}
