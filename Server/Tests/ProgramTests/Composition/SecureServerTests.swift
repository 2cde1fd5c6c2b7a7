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

    @Test func `curl speaks HTTP/2 and 1.1, and a reload shows another certificate`() async throws {
        let said = try await BuiltProgram.output(
            of: """
                \(Self.start)
                ask root
                ask root --http1.1
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
                2 200
                1.1 200
                2 200
                refused
                2 200
                refused
                2 200

                """)
    }

    @Test func `openssl sees the whole chain, and the protocol that it asks for`() async throws {
        let said = try await BuiltProgram.output(
            of: """
                \(Self.start)
                for protocol in h2 http/1.1; do
                    openssl s_client -connect "localhost:$port" -CAfile root.pem -alpn $protocol \\
                        -verify_return_error -showcerts </dev/null 2>&1 | grep -E \\
                        '^(ALPN protocol|Verification|.*Verify return code)|^ *[01] s:'
                done
                """)
        for line in ["ALPN protocol: h2", "ALPN protocol: http/1.1", "0 s:CN = localhost"] {
            #expect(said.contains(line), "\(said)")
        }
        #expect(said.contains("1 s:CN = root") && said.contains("Verification: OK"))
    }

    @Test func `a certificate that cannot be used keeps the server from starting`() async throws {
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
