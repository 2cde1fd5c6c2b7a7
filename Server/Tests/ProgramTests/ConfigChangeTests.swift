import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct ConfigChangeTests {
    private func apps(_ text: String) throws -> [AppSettings] {
        try ConfigurationFile("apps:\n  a:\n    bundle_id: x\n" + text) { _ in nil }
            .apps.map(\.settings)
    }

    @Test func `a change is told line by line`() throws {
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
                "  - term of spring: 3 months and 0 days, chain season",
                "  - unconfirmed_hold_hours 24",
                "  - wallet gems: refunds to_zero, no debt",
                "  + product monthly gives plus",
                "  + term of spring: 1 months and 0 days, chain season",
                "  + unconfirmed_hold_hours 48",
            ])
        #expect(
            ConfigChange.differences(old, old) == ["Nothing changes that customers would notice."])
    }

    @Test func `the new file takes the old one's place and its permissions`() async throws {
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

    @Test func `a link stays, and the file behind it is replaced, for its owner`() async throws {
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
                    "$perennial" config apply new.yaml | tail -1 | cut -d : -f 1
                done
                test -L perennial.yaml && cmp real.yaml new.yaml && cat real.yaml.before
                test "$(stat -c '%u:%g %a' real.yaml)" = "$was" && echo same
                """)
        #expect(
            output.split(separator: "\n") == [
                "Applied", "The two files are the same",
                "apps: {birds: {bundle_id: com.example.birds}}", "same",
            ])
    }

    @Test func `what is wrong with a file is told by that file's name`() async throws {
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

    @Test func `an app that comes or goes is told with all it has`() throws {
        let app = try apps("    products: {monthly: [pro]}")
        let gone = ConfigChange.differences(app, [])
        #expect(gone.contains("  - product monthly gives pro"))
        #expect(ConfigChange.differences([], app).contains("  + product monthly gives pro"))
    }
}
