import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct ConfigChangeTests {
    private func apps(
        _ text: String, files: [String: [UInt8]] = [:]
    ) throws -> [AppConfiguration] {
        let secret = String(repeating: "s", count: 32)
        return try ConfigurationFile(
            "apps:\n  a:\n    bundle_id: x\n" + text, environment: ["SECRET": secret]
        ) { files[$0] }
        .apps
    }

    @Test func `the changes of a configuration are listed line by line`() throws {
        let old = try apps(
            """
                products:
                  monthly: [pro]
                  spring: {entitlements: [season], term: P3M}
                  gems: {credits: {gems: 100}}
            """)
        let new = try apps(
            """
                products:
                  monthly: [pro, plus]
                  spring: {entitlements: [season], term: P1M}
                access: {unconfirmed_hold_hours: 48}
            """)
        #expect(
            ConfigChange.differences(old, new) == [
                "app a",
                "  - product gems credits 100 gems",
                "  - term of spring: 3 months, chain season",
                "  - unconfirmed_hold_hours 24",
                "  - wallet gems: refunds to_zero, no debt",
                "  + product monthly gives plus",
                "  + term of spring: 1 month, chain season",
                "  + unconfirmed_hold_hours 48",
            ])
        #expect(
            ConfigChange.differences(old, old) == ["No change affects customers."])
    }

    /// A StoreKit file with subscriptions in one group, and with consumables.
    private static func shop(
        _ subscriptions: [String], in group: String, consumables: [String]
    ) -> [UInt8] {
        let members = subscriptions.map { id in
            """
            {"productID": "\(id)", "type": "RecurringSubscription", "displayPrice": "1", \
            "groupNumber": 1, "recurringSubscriptionPeriod": "P1M", \
            "subscriptionGroupID": "\(group)"}
            """
        }
        let packs = consumables.map { id in
            #"{"productID": "\#(id)", "type": "Consumable", "displayPrice": "1"}"#
        }
        return Array(
            """
            {"version": {"major": 4, "minor": 0}, "products": [\(packs.joined(separator: ","))],
             "subscriptionGroups": [{"id": "\(group)", "name": "Pro",
              "subscriptions": [\(members.joined(separator: ","))]}]}
            """.utf8)
    }

    @Test func `the changes of a StoreKit file are listed product by product`() throws {
        let files = [
            "old": Self.shop(["a", "b"], in: "21", consumables: ["gems", "x"]),
            "new": Self.shop(["a", "x"], in: "22", consumables: ["gems"]),
        ]
        let terms = "level 1, P1M"
        #expect(
            ConfigChange.differences(
                try apps("    storekit: old", files: files),
                try apps("    storekit: new", files: files)) == [
                    "app a",
                    "  - storekit has a: Auto-Renewable Subscription, group Pro (21), \(terms)",
                    "  - storekit has b: Auto-Renewable Subscription, group Pro (21), \(terms)",
                    "  - storekit has x: Consumable",
                    "  + storekit has a: Auto-Renewable Subscription, group Pro (22), \(terms)",
                    "  + storekit has x: Auto-Renewable Subscription, group Pro (22), \(terms)",
                ])
        let without = ConfigChange.differences(
            try apps(""), try apps("    storekit: new", files: files))
        #expect(without.count == 4 && without.contains("  + storekit has gems: Consumable"))
    }

    private static let items = "items: {x: {published: 2026-01-15, products: [one]}}"

    @Test(
        arguments: [
            (
                "identity: {proof: hmac, secret_env: SECRET}",
                "identity: {proof: jwt, secret_env: SECRET}",
                ["  - identity by hmac", "  + identity by jwt with a secret"]
            ),
            (
                "tokens: {minutes: 60}", "tokens: {minutes: 5}",
                [
                    "  - tokens by perennial, for 60 minutes, offline for 30 days",
                    "  + tokens by perennial, for 5 minutes, offline for 30 days",
                ]
            ),
            (
                "tokens: {offline_days: 30}", "tokens: {offline_days: 90}",
                [
                    "  - tokens by perennial, for 60 minutes, offline for 30 days",
                    "  + tokens by perennial, for 60 minutes, offline for 90 days",
                ]
            ),
            (
                "placements: {a: {products: [x]}, b: {products: [y], metadata: {n: 1}}}",
                "placements: {b: {products: [y], metadata: {n: \"1\"}}, a: {products: [x]}}",
                [
                    "  - placement 1, a: x", "  - placement 2, b: y, with {n: 1}",
                    "  + placement 1, b: y, with {n: \"1\"}", "  + placement 2, a: x",
                ]
            ),
            (
                "content: {folder: old, \(items)}", "content: {folder: new, \(items)}",
                ["  - content is in old", "  + content is in new"]
            ),
            (
                "content: {redirect: https://a.example, \(items)}",
                "content: {redirect: https://a.example, redirect_secret_env: SECRET, \(items)}",
                [
                    "  - content is at https://a.example, with plain links",
                    "  + content is at https://a.example, with signed links",
                ]
            ),
            (
                "content: {\(items)}", "content: {link_minutes: 10, \(items)}",
                [
                    "  - content links are valid for 5 minutes",
                    "  + content links are valid for 10 minutes",
                ]
            ),
        ] as [(String, String, [String])])
    func `changes that customers notice are listed without secrets`(
        old: String, new: String, lines: [String]
    ) throws {
        let told = ConfigChange.differences(try apps("    " + old), try apps("    " + new))
        #expect(told == ["app a"] + lines)
    }

    @Test func `changes to a public key and to the file of a publication are listed`() throws {
        let old = try apps("    content: {folder: a, \(Self.items)}")
        var new = old
        new[0].settings.proof = .signedToken(publicKey: [])
        new[0].settings.content.items[0].file = "x.pdf"
        let told = ConfigChange.differences(old, new)
        #expect(told.contains("  + identity by jwt with a public key"))
        #expect(told.contains { $0.hasPrefix("  + content x on ") && $0.hasSuffix(", in x.pdf") })
    }

    @Test func `changed settings of the process are listed without passwords`() {
        let old = ["port": "8080", "database": "postgres://anna:secret@db/birds"]
        let new = ["host": "0.0.0.0", "port": "9000", "database": "postgres://anna:new@db2/birds"]
        #expect(
            ConfigChange.settingDifferences(old, new) == [
                "settings",
                "  - database postgres://anna:***@db/birds",
                "  - port 8080",
                "  + database postgres://anna:***@db2/birds",
                "  + host 0.0.0.0",
                "  + port 9000",
            ])
        #expect(ConfigChange.settingDifferences(old, old).isEmpty)
    }

    @Test(
        arguments: [
            ("postgres://a:old@db/birds", "postgres://a:new@db/birds", false),
            ("postgres://a@db/birds", "postgres://a@db2/birds", true),
            ("host=db dbname=birds", "host=db2 dbname=birds", true),
            ("host=db dbname=birds", "host=db dbname=birds", false),
            (nil, ProcessSettings.databaseDefault, false), (nil, "other.sqlite", true),
        ] as [(String?, String?, Bool)])
    func `a new address means another database, but a new password does not`(
        old: String?, new: String?, isAnother: Bool
    ) {
        let settings = [old, new].map { address -> [String: String] in
            address.map { ["database": $0] } ?? [:]
        }
        #expect(ConfigChange.isAnotherDatabase(settings[0], settings[1]) == isAnother)
    }

    @Test func `changed settings are validated before they apply, and a new database needs a flag`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                app='apps: {birds: {bundle_id: com.example.birds}}'
                echo "$app" >perennial.yaml
                for settings in 'port: abc' 'database: other.sqlite'; do
                    (echo "$app"; echo "settings: {$settings}") >new.yaml
                    "$perennial" config apply new.yaml 2>&1 | grep -a error: || true
                done
                "$perennial" config apply new.yaml --shut-access 2>/dev/null |
                    sed 's|^Applied.*|Applied|'
                """)
        let lines = output.split(separator: "\n").map(String.init)
        try #require(lines.count >= 5, "\(lines)")
        #expect(lines[0].hasSuffix("“abc” is not a port."))
        #expect(lines[1].hasPrefix("error: The change uses another database"))
        #expect(lines.contains("settings") && lines.contains("  + database other.sqlite"))
        #expect(lines.last == "Applied")
    }

    @Test func `the new configuration file replaces the old file and keeps the permissions`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let path = "\(folder)/perennial.yaml"
            let files = FileManager.default
            _ = files.createFile(
                atPath: path, contents: Data("old".utf8), attributes: [.posixPermissions: 0o640])
            for text in ["new", "newer"] {
                try ConfigChange.replace(path, by: Data(text.utf8), keeping: path + ".before")
                #expect(files.contents(atPath: path) == Data(text.utf8))
                let mode = try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o640)
            }
            #expect(files.contents(atPath: path + ".before") == Data("new".utf8))
            #expect(try files.contentsOfDirectory(atPath: folder).count == 2)
        }
    }

    @Test func `config apply keeps a symbolic link, and the owner and permissions of its target`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                exec 2>/dev/null
                app='bundle_id: com.example.birds'
                echo "apps: {birds: {$app}}" >real.yaml
                echo "apps: {birds: {$app, app_apple_id: 7}}" >new.yaml
                chmod 640 real.yaml
                # Only root may give a file away.
                if [ "$(id -u)" = 0 ]; then chown 1234:4321 real.yaml; fi
                ln -s real.yaml perennial.yaml
                was="$(stat -c '%u:%g %a' real.yaml)"
                for time in first second; do
                    "$perennial" config apply new.yaml | tail -1 | cut -d . -f 1
                done
                test -L perennial.yaml && cmp real.yaml new.yaml && cat real.yaml.before
                test "$(stat -c '%u:%g %a' real.yaml)" = "$was" && echo same
                """)
        #expect(
            output.split(separator: "\n") == [
                "Applied", "The two files are identical",
                "apps: {birds: {bundle_id: com.example.birds}}", "same",
            ])
    }

    @Test func `if a configuration file is missing or invalid, the error names the file`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let path = "\(folder)/other.yaml"
            let missing = #expect(throws: ConfigurationFailure.self) {
                try ConfigurationFile(path: path)
            }
            #expect(missing?.file == path)
            try Data("apps: {}".utf8).write(to: URL(filePath: path))
            let wrong = #expect(throws: ConfigurationFailure.self) {
                try ConfigurationFile(path: path)
            }
            #expect(wrong?.file == path)
        }
    }

    @Test func `an added or removed app is listed with all its lines`() throws {
        let app = try apps("    products: {monthly: [pro]}")
        let gone = ConfigChange.differences(app, [])
        #expect(gone.contains("  - product monthly gives pro"))
        #expect(ConfigChange.differences([], app).contains("  + product monthly gives pro"))
    }
}
