import Engine
import Ledger
import Testing

@testable import Program

@Suite struct KeysCommandTests {
    private func key(_ hash: [UInt8]) -> StoredKey {
        StoredKey(
            app: "birds", hash: hash + [UInt8](repeating: 0, count: 32 - hash.count),
            kind: .secret, name: "server", createdAt: Instant(milliseconds: 0))
    }

    @Test(arguments: ["ab1", "AB12", "ab12"])
    func `a key is meant by how its hash begins`(prefix: String) throws {
        let keys = [key([0xAB, 0x12]), key([0xAB, 0x22]), key([0xCD])]
        let found = try KeysRevokeCommand.key(beginning: prefix, among: keys, of: "birds")
        #expect(found == keys[0])
        #expect(found.line == "birds  secret  ab120000  1970-01-01 00:00 UTC  server")
    }

    @Test(arguments: [
        ("ab", "Use more digits: ab12"), ("ef", "perennial keys list"),
        ("", "perennial keys list"), ("sk_birds_ab", "perennial keys list"),
    ])
    func `none is taken away where it is not clear which`(prefix: String, remedy: String) {
        let keys = [key([0xAB, 0x12]), key([0xAB, 0x22])]
        let failure = #expect(throws: StartFailure.self) {
            try KeysRevokeCommand.key(beginning: prefix, among: keys, of: "birds")
        }
        #expect(failure?.remedy.contains(remedy) == true)
        // It might be a key, and is not to stand in a log.
        #expect(failure?.message.contains("sk_") == false)
    }

    @Test func `keys are listed by what is kept of them, and taken away by it`() async throws {
        let output = try await BuiltProgram.output(
            of: """
                exec 2>/dev/null
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys create --kind app --name phone >/dev/null
                "$perennial" keys create --kind secret --name server >key
                digits="$(tr -d '\\n' <key | sha256sum | cut -c1-8)"
                "$perennial" keys list | grep -c "^birds  secret  $digits  .*  server$"
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
