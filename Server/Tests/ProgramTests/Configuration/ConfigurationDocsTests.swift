import Foundation
import Testing

@testable import Program

/// Compares the keys of the configuration with the tables in the docs.
@Suite struct ConfigurationDocsTests {
    /// The keys of a mapping, the path of the mapping, and the page with the table of the keys. `…`
    /// stands for a name that the user chooses.
    private static let mappings: [(path: String, page: String, keys: [String])] = [
        ("", "configuration.md", ConfigurationReader.appKeys.map(\.name)),
        ("products.….", "configuration.md", ConfigurationReader.productKeys.map(\.name)),
        ("access.", "configuration.md", ConfigurationReader.accessKeys.map(\.name)),
        ("trust.", "configuration.md", ConfigurationReader.trustKeys),
        ("app_store.", "configuration.md", ConfigurationReader.appStoreKeys),
        ("app_store.reports.", "configuration.md", ConfigurationReader.reportsKeys),
        ("settings.", "configuration.md", ProcessSettings.fileKeys),
        ("dashboard.", "configuration.md", ConfigurationReader.dashboardKeys.map(\.name)),
        ("dashboard.trusted_proxy.", "configuration.md", ConfigurationReader.proxyKeys),
        ("dashboard.sign_in.", "configuration.md", ConfigurationReader.signInKeys),
        ("dashboard.sign_in.openid.", "configuration.md", ConfigurationReader.openIDKeys),
        ("tls.", "configuration.md", ConfigurationReader.tlsKeys),
        ("limits.", "configuration.md", LimitSettings.keys.map(\.name)),
        ("backup.", "backups.md", BackupSettings.keys.map(\.name)),
        ("backup.keep.", "backups.md", BackupRetention.keys.map(\.name)),
        ("alerts.", "monitoring.md", AlertSettings.keys),
        ("alerts.webhook.", "monitoring.md", AlertSettings.webhookKeys),
        ("alerts.mail.", "monitoring.md", AlertSettings.mailKeys),
        ("terms.", "terms.md", ConfigurationReader.termKeys.map(\.name)),
        ("wallets.….", "wallets.md", ConfigurationReader.walletKeys.map(\.name)),
        ("placements.….", "offerings.md", ConfigurationReader.placementKeys.map(\.name)),
        ("content.", "content.md", ConfigurationReader.contentKeys.map(\.name)),
        ("content.items.….", "content.md", ConfigurationReader.itemKeys),
        ("forward.….", "forwarding.md", ConfigurationReader.forwardKeys),
        ("webhooks.", "webhooks.md", ConfigurationReader.webhookKeys),
        ("webhooks.endpoints.….", "webhooks.md", ConfigurationReader.endpointKeys),
        (
            "revenuecat.", "revenuecat-sdk.md",
            ConfigurationReader.revenueCatKeys.map(\.name)
        ),
    ]

    /// Mappings that a page explains without a table.
    private static let explained: [(path: String, page: String, keys: [String])] = [
        ("identity.", "identity.md", ConfigurationReader.identityKeys),
        ("restore.", "identity.md", ConfigurationReader.restoreKeys),
        ("restore.share.", "identity.md", ConfigurationReader.shareKeys),
        ("tokens.", "tokens.md", ConfigurationReader.tokenKeys.map(\.name)),
        ("consumption.", "consumption.md", ConfigurationReader.consumptionKeys.map(\.name)),
        ("seats.", "seats.md", ConfigurationReader.seatKeys.map(\.name)),
        ("retention.", "configuration.md", ConfigurationReader.retentionKeys.map(\.name)),
    ]

    /// A table of keys: its page, the first cell of its head, the column with the keys, and the
    /// beginnings of paths that its rows may omit.
    struct Table: Sendable, CustomTestStringConvertible {
        var page: String
        var head: String
        var column = 0
        var paths: [String]
        var testDescription: String { "\(page): \(head)" }
    }

    static let tables = [
        Table(page: "configuration.md", head: "key", paths: ["", "products.…."]),
        Table(page: "configuration.md", head: "key of `app_store`", paths: ["app_store."]),
        Table(page: "configuration.md", head: "key of `dashboard`", paths: ["dashboard."]),
        Table(
            page: "configuration.md", head: "key of `sign_in`", paths: ["dashboard.sign_in."]),
        Table(page: "configuration.md", head: "key of `tls`", paths: ["tls."]),
        Table(page: "configuration.md", head: "key of `limits`", paths: ["limits."]),
        Table(
            page: "configuration.md", head: "key of `reports`", paths: ["app_store.reports."]),
        Table(page: "configuration.md", head: "flag", column: 2, paths: ["settings."]),
        Table(page: "backups.md", head: "key of `backup`", paths: ["backup."]),
        Table(page: "monitoring.md", head: "key of `alerts`", paths: ["alerts."]),
        Table(page: "terms.md", head: "key", paths: ["", "products.…."]),
        Table(page: "wallets.md", head: "key", paths: ["", "products.…."]),
        Table(page: "content.md", head: "key", paths: ["content."]),
        Table(page: "offerings.md", head: "key of a placement", paths: ["placements.…."]),
        Table(page: "forwarding.md", head: "key", paths: ["", "forward.…."]),
        Table(page: "webhooks.md", head: "key of `webhooks`", paths: ["webhooks."]),
        Table(page: "revenuecat-sdk.md", head: "key of `revenuecat`", paths: ["revenuecat."]),
    ]

    @Test(arguments: tables)
    func `every row of a table in the docs names a configuration key that exists`(table: Table)
        throws
    {
        let known = (Self.mappings + Self.explained).flatMap { path, _, keys in
            keys.map { path + $0 }
        }
        let rows = try Self.rows(of: table)
        #expect(!rows.isEmpty)
        for row in rows {
            let isKnown = table.paths.contains { known.contains($0 + row) }
            #expect(isKnown, "docs/\(table.page) lists \(row), which is not a key.")
        }
    }

    @Test func `every configuration key has a row in a table of the docs`() throws {
        for (path, page, keys) in Self.mappings {
            let rows = try Self.tables.filter { $0.page == page }.flatMap { table in
                try Self.rows(of: table).flatMap { row in table.paths.map { $0 + row } }
            }
            for key in keys.map({ path + $0 }) {
                // The row of a key inside a mapping also counts as a row for the mapping.
                let isListed = rows.contains { $0 == key || $0.hasPrefix(key + ".") }
                #expect(isListed, "No table of docs/\(page) has a row for \(key).")
            }
        }
    }

    @Test func `the docs explain configuration keys that have no table`() throws {
        for (_, page, keys) in Self.explained {
            let words = Set(try Self.text(of: page).split { !$0.isLetter && $0 != "_" })
            for key in keys {
                #expect(words.contains(Substring(key)), "docs/\(page) does not explain \(key).")
            }
        }
    }

    @Test func `a change of any configuration key is shown, except for five keys`() {
        let silent = ConfigurationReader.appKeys.filter { $0.lines == nil }.map(\.name)
        #expect(
            silent == [
                "storekit", "trust", "app_store", "shared_secret_env", "verify_receipt_url",
            ])
    }

    private static func text(of page: String) throws -> String {
        let docs = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs")
        return try String(contentsOf: docs.appending(path: page), encoding: .utf8)
    }

    /// The keys in a table: the words in backticks in the column of keys.
    private static func rows(of table: Table) throws -> [String] {
        let lines = try text(of: table.page).split(
            separator: "\n", omittingEmptySubsequences: false)
        return lines.drop { !$0.hasPrefix("| \(table.head) |") }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .flatMap { line in
                line.split(separator: "|")[table.column].matches(of: #/`([^`]+)`/#)
                    .map { String($0.1) }
            }
    }
}
