import ArgumentParser
import Foundation
import PostgresCluster

/// Upgrades two servers on one PostgreSQL under load, from another build to this one.
struct UpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Upgrade servers of another build to this one, under load and with kills.")

    @Option(help: "The folder with the program `perennial` of the other build.") var old: String
    @Option(help: "How often each server is killed.") var kills = 5
    @Option(help: "Purchases in the load. Each renews once.") var purchases = 10_000

    func run() async throws {
        let folder = try BenchFolder(isQuick: false)
        Progress.report("signing \(2 * purchases) notifications …")
        let load = try ServersLoad.renewals(
            purchases, DocumentMaker(authority: folder.authority))
        let postgres = try await PostgresServer(surviving: .power)
        try await postgres.start()
        let outcome = Result {
            try Administration.run("CREATE DATABASE upgrade", at: postgres.url(of: "postgres"))
            let drill = UpgradeDrill(
                old: try Programs(folder, in: URL(fileURLWithPath: old)),
                new: try Programs(folder), database: postgres.url(of: "upgrade"), load)
            return try drill.run(kills: kills)
        }
        try await postgres.remove()
        let table = try outcome.get()
        print(table.text)
        if !table.isGood { throw ExitCode(1) }
    }
}
