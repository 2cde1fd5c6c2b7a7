import Foundation
import Testing

@testable import Program

/// The built program with a certificate, and clients from other projects.
@Suite struct SecureServerTests {
    /// Starts the program with `live.pem` and `live.key`, and waits until it listens. Defines
    /// `ask CA ARGUMENTS…`, which prints the version of HTTP and the status of an answer, and
    /// `await_line TEXT`, which waits for a line of the log.
    private static let start = """
        set +o pipefail
        \(CertificateFiles.functions)
        authority root
        authority other
        pair first root 7
        pair second other 7
        cp first.pem live.pem; cp first.key live.key
        cat >perennial.yaml <<'YAML'
        \(CertificateFiles.configuration("live.pem", "live.key"))
        YAML
        arguments="--config perennial.yaml --database p.sqlite"
        "$perennial" keys create --app birds --kind app $arguments >/dev/null
        "$perennial" serve $arguments --port 0 2>log &
        server=$!
        trap 'kill $server' EXIT
        await_line() { timeout 60 grep -q -m 1 -- "$1" <(tail -f -n +1 --pid=$server log); }
        await_line 'scheme=https .*listening'
        port=$(sed -n 's/.* port=\\([0-9]*\\) scheme=https .*/\\1/p' log)
        ask() {
            local root=$1; shift
            curl --silent --show-error --cacert "$root.pem" --max-time 30 --output /dev/null \\
                --write-out '%{http_version} %{http_code}\\n' "$@" \\
                "https://localhost:$port/health" 2>&1
        }
        """

    @Test func `curl gets answers over TLS, and a reload shows another certificate`() async throws {
        let said = try await BuiltProgram.output(
            of: """
                \(Self.start)
                ask root
                ask root --tls-max 1.2
                ask other >/dev/null && echo accepted || echo refused
                cp second.pem live.pem; cp second.key live.key
                kill -HUP $server
                await_line 'a changed certificate is in force'
                ask other
                ask root >/dev/null && echo accepted || echo refused
                printf 'broken' >live.key
                kill -HUP $server
                await_line 'live.key is not in PEM format.*the changed configuration is refused'
                ask other
                """)
        #expect(
            said == """
                1.1 200
                1.1 200
                refused
                1.1 200
                refused
                1.1 200

                """)
    }

    @Test func `a server with a certificate that cannot be used does not start`() async throws {
        let said = try await BuiltProgram.output(
            of: """
                \(CertificateFiles.functions)
                authority root
                pair first root 7
                pair second root 7
                cat >perennial.yaml <<'YAML'
                \(CertificateFiles.configuration("first.pem", "second.key"))
                YAML
                "$perennial" serve --config perennial.yaml --database p.sqlite 2>&1 \\
                    || echo "exit code $?"
                """)
        #expect(said.contains("second.key is not the key of the certificate."), "\(said)")
        #expect(said.hasSuffix("exit code 1\n"))
    }
}
