import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

@Suite struct KeysCommandTests {
    @Test func `the key that verifies answers to RevenueCat's SDK is printed, and stays the same`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys create --kind app >/dev/null 2>&1
                "$perennial" keys revenuecat
                "$perennial" keys revenuecat --app birds
                """)
        let lines = output.split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines.first == lines.last, "\(output)")
        #expect(Data(base64Encoded: lines.first ?? "")?.count == 32, "\(output)")
    }

    private func key(_ hash: [UInt8]) -> StoredKey {
        StoredKey(
            app: "birds", hash: hash + [UInt8](repeating: 0, count: 32 - hash.count),
            kind: .secret, name: "server", createdAt: Instant(milliseconds: 0))
    }

    @Test(arguments: ["ab1", "AB12", "ab12"])
    func `an API key is found by the first digits of its hash`(prefix: String) throws {
        let keys = [key([0xAB, 0x12]), key([0xAB, 0x22]), key([0xCD])]
        let found = try KeysRevokeCommand.key(beginning: prefix, among: keys, of: "birds")
        #expect(found == keys[0])
        #expect(
            found.line == "birds  secret  ab120000  1970-01-01 00:00 UTC  admin  "
                + "no use recorded  server")
    }

    @Test(arguments: [
        ("ab", "Use more digits: ab12"), ("ef", "perennial keys list"),
        ("", "perennial keys list"), ("sk_birds_ab", "perennial keys list"),
    ])
    func `if the given digits do not identify exactly one key, no key is revoked`(
        prefix: String, remedy: String
    ) {
        let keys = [key([0xAB, 0x12]), key([0xAB, 0x22])]
        let failure = #expect(throws: StartFailure.self) {
            try KeysRevokeCommand.key(beginning: prefix, among: keys, of: "birds")
        }
        #expect(failure?.remedy.contains(remedy) == true)
        // The text might be a key, so the message must not repeat it.
        #expect(failure?.message.contains("sk_") == false)
    }

    @Test func `the list of keys shows the scopes, the end and the last use of each key`() {
        var key = self.key([0xAB])
        key.scopes = [.money, .read]
        key.until = Instant(milliseconds: 86_400_000)
        key.lastUsedAt = Instant(milliseconds: 3_600_000)
        #expect(
            key.line == "birds  secret  ab000000  1970-01-01 00:00 UTC  read,money  "
                + "until 1970-01-02 00:00 UTC  last used 1970-01-01 01:00 UTC  server")
    }

    @Test func `only a secret key can have a scope or an end`() throws {
        #expect(try KeysCreateCommand.kind(nil, isLimited: true) == .secret)
        #expect(try KeysCreateCommand.kind(.app, isLimited: false) == .app)
        #expect(throws: StartFailure.self) {
            try KeysCreateCommand.kind(.app, isLimited: true)
        }
        #expect(throws: StartFailure.self) {
            try KeysCreateCommand.kind(nil, isLimited: false)
        }
    }

    @Test func `the end of an API key is given as a date or a time`() throws {
        let day = try KeysCreateCommand.moment("1970-01-02")
        let time = try KeysCreateCommand.moment("1970-01-02T01:00:00Z")
        #expect(day == Instant(milliseconds: 86_400_000))
        #expect(time == Instant(milliseconds: 90_000_000))
        for text in ["tomorrow", "", "2027-02-30"] {
            #expect(throws: StartFailure.self) { try KeysCreateCommand.moment(text) }
        }
    }

    @Test func `the list shows the digits of each key's hash, by which the key can be revoked`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                exec 2>/dev/null
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys create --kind app --name phone >/dev/null
                "$perennial" keys create --scope read --until 2999-01-01 --name server >key
                digits="$(tr -d '\\n' <key | sha256sum | cut -c1-8)"
                limits="read  until 2999-01-01 00:00 UTC"
                "$perennial" keys list | grep -c "^birds  secret  $digits  .*  $limits  .*  server$"
                "$perennial" keys create --scope read --until 2020-01-01 || true
                "$perennial" keys revoke "$digits"
                "$perennial" keys list | cut -c1-10
                """)
        let lines = output.split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(lines)")
        #expect(lines[0] == "1")
        #expect(lines[1].hasPrefix("Revoked: birds  secret  "))
        #expect(lines[2] == "Servers notice within 30 seconds.")
        #expect(lines[3] == "birds  app")
    }
}
