import ArgumentParser
import Engine
import Foundation
import HTTPServer
import Ledger
import PerennialContract
import Storage

/// Writes the audit to standard output, or checks a file with it.
struct ExportAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Write what operators did as signed JSON lines, or check such a file.",
        discussion: "docs/dashboard.md says what the lines are, and lists the acts.")

    @Flag(help: "Acts about accounts, which belong to no app.") var accounts = false
    @Option(help: "Check this file instead of writing one.") var verify: String?
    @Option(help: "With --verify: an earlier file, whose entries the file must have unchanged.")
    var against: String?
    @Option(help: "The app, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func validate() throws {
        guard against == nil || verify != nil else {
            throw ValidationError("--against needs --verify.")
        }
    }

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            // A file about accounts is also signed with the key of an app.
            let app = try assembly.app(named: app)
            if let verify {
                try await check(verify, assembly.engine, app)
            } else {
                try await write(assembly.engine, app)
            }
        }
    }

    private func subject(_ app: AppID) -> String { accounts ? AuditFile.accounts : app.rawValue }

    private func write(_ engine: Engine, _ app: AppID) async throws {
        var writer = AuditFile.Writer()
        var position: RecordedAct.Position?
        repeat {
            let page = try await engine.audit.page(
                of: accounts ? nil : app, before: position, limit: AuditService.auditEntriesMax)
            for act in page.entries {
                try ExportTableCommand.write(try writer.line(of: act))
            }
            position = page.next
        } while position != nil
        let claims = writer.claims(
            about: subject(app),
            at: Timestamp(milliseconds: engine.context.serverTime.milliseconds))
        let signature = try await engine.tokens.statement(
            claims, type: AuditFile.type, of: app)
        if signature == nil {
            Outcome.printError(
                "warning: The file is not signed, because app \(app) has no key yet. Start the "
                    + "server and open /.well-known/jwks.json once, which creates it, unless the "
                    + "app has `tokens: false`.")
        }
        try ExportTableCommand.write(try writer.lastLine(signature: signature))
    }

    private func check(_ path: String, _ engine: Engine, _ app: AppID) async throws {
        let file = try AuditFile(at: path)
        let signedAt = try await signingTime(of: file, at: path, engine, app)
        if let against {
            let earlier = try AuditFile(at: against)
            let earlierAt = try await signingTime(of: earlier, at: against, engine, app)
            guard earlierAt <= signedAt else {
                throw StartFailure(
                    "\(against) was signed after \(path).",
                    remedy: "Name the later file with --verify.")
            }
            let moment = Instant(milliseconds: signedAt * 1000)
            if let entry = file.difference(from: earlier, signedAt: moment) {
                throw StartFailure(
                    "\(path) does not have the entry \(entry.auditID) as \(against) has it: "
                        + "\(entry.act) by \(entry.author) at \(entry.at).",
                    remedy: "Entries are never changed, and only `retention` deletes some, which "
                        + "the file would report. So somebody has changed the database, or it was "
                        + "restored from an earlier backup, or the two files are swapped.")
            }
        }
        print(
            "\(path): \(file.entries.count.counted("entry", "entries")), signed "
                + "\(Instant(milliseconds: signedAt * 1000).minute); nothing was changed since.")
        if let deletion = file.deletion { print(deletion.sentence) }
    }

    /// When this server signed a file, in seconds since 1970.
    ///
    /// - Throws: ``StartFailure`` if the file has no signature of this server, or was changed after
    ///   it was signed.
    private func signingTime(
        of file: AuditFile, at path: String, _ engine: Engine, _ app: AppID
    ) async throws -> Int64 {
        guard let signature = file.signature else {
            throw StartFailure(
                "\(path) is not signed, so nothing shows whether it was changed.",
                remedy: "Create the app's key with /.well-known/jwks.json of the running server, "
                    + "and export again.")
        }
        guard
            let claims = try await engine.tokens.verifiedStatement(
                signature, type: AuditFile.type, of: app),
            file.agrees(with: claims, about: subject(app)), let time = claims["iat"]?.integer
        else {
            throw StartFailure(
                "\(path) was not signed by this server for this audit, or was changed since.",
                remedy: "Name the database of the server that wrote it, and its --app. Add "
                    + "--accounts for a file about accounts.")
        }
        return time
    }
}
