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
        sed -i 's/^tls:/tls:\\n  http2: true/' perennial.yaml
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

    @Test func `curl gets answers over TLS, and gets the new certificate after a reload`()
        async throws
    {
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
                ask other --http1.1
                ask root >/dev/null && echo accepted || echo refused
                sed -i 's/http2: true/http2: false/' perennial.yaml
                kill -HUP $server
                for attempt in $(seq 300); do [ "$(ask other)" != "1.1 200" ] || break; done
                ask other
                printf 'broken' >live.key
                kill -HUP $server
                await_line 'live.key is not in PEM format.*the changed configuration is refused'
                ask other
                """)
        #expect(
            said == """
                2 200
                2 200
                refused
                2 200
                1.1 200
                refused
                1.1 200
                1.1 200

                """)
    }

    @Test func `the metrics show the expiry of the certificate and the free space of the disk`()
        async throws
    {
        let said = try await BuiltProgram.output(
            of: """
                \(Self.start)
                metrics() {
                    curl --silent --cacert root.pem --max-time 30 "https://localhost:$port/metrics"
                }
                export -f metrics; export port
                measured='work="measurements"'; export measured
                timeout 60 bash -c 'until metrics >page && grep -q "$measured" page; do :; done'
                cat page
                echo "now $(date +%s)"
                """)
        func value(_ name: String) throws -> Int {
            let line = said.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
            return try #require(line.flatMap { Int($0.dropFirst(name.count + 1)) }, "\(name)")
        }
        let rest = try value("perennial_certificate_end_time_seconds") - value("now")
        #expect((6 * 86_400...7 * 86_400).contains(rest))
        let size = try value("perennial_disk_size_bytes")
        #expect((1..<size).contains(try value("perennial_disk_free_bytes")))
        #expect(try value("perennial_database_ready") == 1)
        #expect(said.contains(#"perennial_worker_success_time_seconds{work="measurements"}"#))
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
