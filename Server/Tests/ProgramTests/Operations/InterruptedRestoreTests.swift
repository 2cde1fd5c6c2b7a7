import Foundation
import Ledger
import Storage
import Testing

@testable import Program

/// What encrypted backups leave behind when a command is refused or interrupted.
@Suite struct InterruptedRestoreTests {
    /// A program in place of age. It writes plain text, and then takes a long time.
    private static let slowAge = """
        mkdir bin tmp
        cat >bin/age <<'END'
        #!/bin/sh
        while [ $# -gt 0 ]; do [ "$1" = --output ] && out="$2"; shift; done
        printf 'plain text' >"$out"
        exec sleep 1000
        END
        chmod +x bin/age
        export PATH="$PWD/bin:$PATH" TMPDIR="$PWD/tmp"
        printf 'age-encryption.org/v1\\n' >b.sqlite.age
        echo key >key
        echo 'apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}' >perennial.yaml
        """

    @Test(arguments: [
        "restore b.sqlite.age --identity key --database p.sqlite",
        "restore --drill --backup b.sqlite.age --identity key --config perennial.yaml",
    ])
    func `an interrupted command deletes its decrypted files`(arguments: String) async throws {
        let output = try await BuiltProgram.output(
            of: """
                \(Self.slowAge)
                "$perennial" \(arguments) >out 2>&1 & pid=$!
                found=
                for attempt in $(seq 600); do
                    found="$(find . -name '*.decrypted' -size +0)"
                    [ -n "$found" ] && break
                    sleep 0.1
                done
                echo "decrypted: $found"
                kill -TERM $pid
                wait $pid || echo "exit code $?"
                cat out
                find . -name '*.decrypted*' -o -name '*.restoring*' -o -name 'perennial-drill-*'
                echo end
                """)
        #expect(output.contains(#/decrypted: .+\.decrypted/#), "\(output)")
        #expect(output.contains("exit code 1"), "\(output)")
        #expect(output.contains("Interrupted. What was unfinished was deleted."), "\(output)")
        #expect(output.contains("Run it again.\nend"), "\(output)")
    }

    @Test func `an encrypted backup is not decrypted while the server is running`() async throws {
        try await TemporaryFolder.with { folder in
            let backup = folder + "/b.sqlite.age"
            try Data("age-encryption.org/v1\n".utf8).write(to: URL(filePath: backup))
            let path = folder + "/p.sqlite"
            let lock = try ServerLock.acquire(for: path)
            defer { lock?.release() }
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await DatabaseRestore(
                    backup: backup, path: path, now: .machine, identity: "key"
                ).run()
            }
            #expect(failure?.message.contains("Another server works on") == true)
        }
    }

    @Test func `a server deletes decrypted copies of backups at its start, even without backups`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: """
                echo 'apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}' >c.yaml
                "$perennial" keys create --app birds --kind app --config c.yaml \
                    --database p.sqlite >out 2>&1
                echo 'plain text' >p.sqlite.backing-up
                "$perennial" serve --config c.yaml --database p.sqlite --port 0 >out 2>&1 & pid=$!
                for attempt in $(seq 600); do
                    [ -e p.sqlite.backing-up ] || break
                    sleep 0.1
                done
                kill -TERM $pid
                wait $pid || cat out
                find . -name '*.backing-up*'
                echo end
                """)
        #expect(output.hasSuffix("end\n") && !output.contains("backing-up"), "\(output)")
    }
}
