import Testing

/// Runs the program with a dashboard. `curl` stands in for the browser.
@Suite(.serialized) struct OperatorsCommandTests {
    /// Starts `serve` with a dashboard on a free port, and stops it when the script ends.
    private static let server = """
        port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); \
        print(s.getsockname()[1])')
        base=http://127.0.0.1:$port
        cat > perennial.yaml <<END
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1
            products: {pro.monthly: [pro]}
        dashboard:
          url: $base
        settings: {database: p.sqlite}
        END
        key=$("$perennial" keys create --app birds --kind secret 2> /dev/null)
        "$perennial" serve --port "$port" > out 2> log & server=$!
        trap 'kill $server; wait $server || true' EXIT
        curl -sf --retry 600 --retry-delay 1 --retry-connrefused -o /dev/null $base/ready
        link=$(grep -o 'http.*/links/[0-9a-f]*' out)
        status() { curl -s -o page -w '%{http_code} %{redirect_url}\\n' -b jar -c jar "$@"; }
        accept() {
            status -d "name=$2" -d 'password=correct horse battery' \\
                -d 'repeated=correct horse battery' "$1"
        }
        csrf() {
            curl -s -b jar "$base/" | grep -o 'name="csrf" value="[0-9a-f]*"' | head -n 1 \\
                | cut -d '"' -f 4
        }

        """

    @Test(.timeLimit(.minutes(10)))
    func `the link of the first start creates an admin, whose actions are recorded`() async throws {
        let output = try await BuiltProgram.output(
            of: Self.server + """
                status $base/customers
                accept $link mira
                accept $link eve
                status $base/customers/anna
                status -d csrf=x -d entitlement=pro $base/customers/anna/grants
                status -d csrf=$(csrf) -d entitlement=pro -d reason=x $base/customers/anna/grants
                curl -s -H "Authorization: Bearer $key" $base/v1/audit \\
                    | grep -o '"author":"mira","act":"customers.grants"'
                curl -sf -o /dev/null $base/.well-known/jwks.json
                "$perennial" export audit > audit.jsonl 2> /dev/null
                "$perennial" export audit --verify audit.jsonl --against audit.jsonl 2> /dev/null \
                    | sed 's/signed .*;/signed;/'
                sed 's/"signature":".*"/"signature":""/' audit.jsonl > unsigned.jsonl
                "$perennial" export audit --verify unsigned.jsonl 2>&1 \
                    | grep -c 'is not signed' || true
                sed 1d audit.jsonl > cut.jsonl
                "$perennial" export audit --verify cut.jsonl 2>&1 \
                    | grep -o '^error: cut.jsonl:1' || true
                "$perennial" export audit --accounts --verify audit.jsonl 2>&1 \
                    | grep -c 'not signed by' || true
                status -d csrf=$(csrf) $base/logout
                status $base/customers
                "$perennial" operators list 2> /dev/null | cut -d ' ' -f 1-3
                """)
        let lines = output.split(separator: "\n").map { $0.replacing(#/127.0.0.1:\d+/#, with: "s") }
        #expect(
            lines == [
                "303 http://s/login?next=%2Fcustomers", "303 http://s/", "404 ", "200 ", "403 ",
                "303 http://s/customers/anna", "\"author\":\"mira\",\"act\":\"customers.grants\"",
                "audit.jsonl: 1 entry, signed; nothing was changed since.", "1",
                "error: cut.jsonl:1", "1",
                "303 http://s/login", "303 http://s/login?next=%2Fcustomers", "mira  *=admin",
            ], "\(output)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `accounts can be managed from the shell while the server runs`() async throws {
        let output = try await BuiltProgram.output(
            of: Self.server + """
                accept $link mira
                "$perennial" operators link 2>&1 | grep -ao 'There are accounts already' || true
                accept $("$perennial" operators invite ben --role support --app birds 2> err) x
                status $base/webhooks
                "$perennial" operators invite ben --role viewer 2>&1 \\
                    | grep -ao 'an account with the name ben' || true
                "$perennial" operators block ben 2> /dev/null | cut -d ' ' -f 1-2
                status $base/webhooks
                "$perennial" operators recovery-codes ben 2>&1 \\
                    | grep -ao 'ben has no passkey' || true
                "$perennial" operators remove-passkeys ben 2> /dev/null
                "$perennial" operators block mira 2>&1 | grep -ao 'mira is the only admin' || true
                "$perennial" operators unblock ben 2> /dev/null | cut -d ' ' -f 1-3
                accept $("$perennial" operators link ben 2> err) x
                status $base/webhooks
                """)
        let lines = output.split(separator: "\n").map { $0.replacing(#/127.0.0.1:\d+/#, with: "s") }
        #expect(
            lines == [
                "303 http://s/", "There are accounts already", "303 http://s/", "200 ",
                "an account with the name ben", "Blocked: ben",
                "303 http://s/login?next=%2Fwebhooks",
                "ben has no passkey", "There was no passkey.",
                "mira is the only admin", "Unblocked: ben ", "303 http://s/", "200 ",
            ], "\(output)")
    }
}
