import Testing

@testable import Program

/// The messages of commands that fail: a plain sentence and a remedy.
@Suite struct CommandFailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// The arguments after `perennial`.
        var command: String
        /// All lines that the command prints.
        var says: [String]
        var testDescription: String { command }

        init(_ command: String, _ says: String...) { (self.command, self.says) = (command, says) }
    }

    /// The files that the commands read.
    private static let files = #"""
        app='bundle_id: com.example.birds, app_apple_id: 1, products: {a: [pro]}'
        echo "apps: {birds: {$app}}" >birds.yaml
        echo "apps: {birds: {$app}, cats: {bundle_id: com.example.cats, app_apple_id: 2,
            products: {b: [pro]}}}" >two.yaml
        printf 'apps:\n  birds:\n    bundle_id: a.b\n  birds:\n    bundle_id: a.c\n' >twice.yaml
        printf 'apps:\n  birds:\n\tbundle_id: a.b\n' >tab.yaml
        printf 'apps: {birds: {bundle_id: com example}}' >space.yaml
        printf 'apps: [1\nbirds: 2\n' >broken.yaml
        echo 'a text that is no database at all' >no.sqlite
        echo appl_1 >public.key; echo sk_1 >secret.key
        "$perennial" keys create --kind app --config birds.yaml --database p.sqlite >/dev/null 2>&1

        """#

    private static let unreachable = """
        The database postgres://x@127.0.0.1:1/p cannot be reached: PostgreSQL: connection to \
        server at "127.0.0.1", port 1 failed: Connection refused.
        """
    private static let reaching =
        "  Start the PostgreSQL server, or correct the host, port, user or password in its address."
    private static let noDatabase = "it is not a SQLite database."
    private static let otherFile =
        "  Name another file, which this user may write, or postgres://USER@HOST/NAME, with "
        + "--database."
    private static let noLinks = [
        "error: The configuration has no dashboard, so a link would lead nowhere.",
        "  Add `dashboard:` with the `url:` at which browsers reach it. docs/dashboard.md says "
            + "how.",
    ]

    static let rows = [
        Row(
            "explain anna", "error: perennial.yaml cannot be read.",
            "  Write one as docs/configuration.md shows, or name another with --config. For the "
                + "data of `bin/dev` use --data .perennial instead."),
        Row(
            "reconcile --config birds.yaml --database p.sqlite",
            "error: App birds has no app_store, so the App Store cannot be asked.",
            "  Add `app_store:` with an In-App Purchase key to the app in the configuration."),
        Row(
            "reconcile --config two.yaml --database p.sqlite",
            "error: No app has an app_store, so the App Store cannot be asked.",
            "  Add `app_store:` with an In-App Purchase key to the app in the configuration."),
        Row(
            "reconcile --customer anna --app cats --config two.yaml --database p.sqlite",
            "error: App cats has no app_store, so the App Store cannot be asked.",
            "  Add `app_store:` with an In-App Purchase key to the app in the configuration."),
        Row(
            "rehearse", "error: --project is missing.",
            "  Use the id in the address of the project's dashboard at RevenueCat, with `proj` in "
                + "front."),
        Row(
            "rehearse --project proj1", "error: RevenueCat's key is missing.",
            "  Set REVENUECAT_SECRET_KEY, or name a file with --key-file."),
        Row(
            "rehearse --project proj1 --key-file public.key",
            "error: This is not a secret key of RevenueCat.",
            "  Create one of version 2 in RevenueCat's dashboard, under API keys. It begins with "
                + "sk_."),
        Row(
            "rehearse --project proj1 --key-file secret.key --from http://rc.example.com",
            "error: “http://rc.example.com” is not an address of RevenueCat: see --from.",
            "  Leave it out, or write https, a host, and perhaps a port. http is accepted only "
                + "for this machine."),
        Row(
            "rehearse --project proj1 --key-file secret.key --report birds.yaml",
            "error: birds.yaml exists already and is not the report of a rehearsal.",
            "  Name another with --report, or move this file away."),
        Row(
            "rehearse --project proj1 --key-file secret.key --customers no.txt",
            "error: no.txt cannot be read.",
            "  Use a file of UTF-8 with at most 268435456 bytes, and one id on each line."),
        Row(
            "rehearse --project proj1 --key-file secret.key --config birds.yaml "
                + "--database p.sqlite",
            "error: App birds has no key for signing yet.",
            "  Start the server and open /.well-known/jwks.json once, which creates it. The app "
                + "must not have `tokens: false`."),
        Row(
            "rehearse --verify no.signed --config birds.yaml --database p.sqlite",
            "error: no.signed cannot be read.", "  Name the file that ends with .signed."),
        Row(
            "rehearse --verify birds.yaml --config birds.yaml --database p.sqlite",
            "error: birds.yaml is not a rehearsal that this server has signed.",
            "  Name the file that ends with .signed, unchanged, and the database of the server "
                + "that wrote it."),
        Row("operators link --config birds.yaml --database p.sqlite", noLinks[0], noLinks[1]),
        Row(
            "operators invite x --role viewer --config birds.yaml --database p.sqlite",
            noLinks[0], noLinks[1]),
        Row(
            "operators link --data .", "error: The dashboard of `perennial dev` has no accounts.",
            "  Open it without signing in. For a server leave out --data."),
        Row(
            "keys create --kind app --config birds.yaml --database /proc/x/y.sqlite",
            "error: The database /proc/x/y.sqlite cannot be created: this user cannot make the "
                + "folder /proc/x.",
            otherFile),
        Row(
            "keys list --config birds.yaml --database no.sqlite",
            "error: The database no.sqlite cannot be opened: \(noDatabase)", otherFile),
        Row(
            "backup copy.sqlite --database no.sqlite",
            "error: no.sqlite cannot be used: \(noDatabase)",
            "  Name a database of Perennial that this user may read. If it is one, the file may "
                + "be damaged: use another backup."),
        Row(
            "serve --port 0 --config birds.yaml --database postgres://x@127.0.0.1:1/p",
            "warning: birds.yaml:1: App birds has no app_store. Add `app_store:` with an In-App "
                + "Purchase key, so that purchases can be checked if notifications are missed.",
            "error: \(unreachable)", reaching),
        Row(
            "keys list --config birds.yaml --database postgres://x@127.0.0.1:1/p",
            "error: \(unreachable)", reaching),
        Row(
            "migrate --from p.sqlite --to postgres://x@127.0.0.1:1/p", "error: \(unreachable)",
            reaching),
        Row(
            "check --config twice.yaml",
            "DO    twice.yaml:2: birds is defined twice. Remove one of them, or rename it."),
        Row(
            "check --config tab.yaml",
            "DO    tab.yaml:3: The line is indented with a tab, which YAML does not allow. Use "
                + "spaces."),
        Row(
            "simulate --port 0 --data . --world tab.yaml",
            "error: tab.yaml:3: The line is indented with a tab, which YAML does not allow.",
            "  Use spaces."),
        Row(
            "simulate --port 0 --data . --world broken.yaml",
            "error: broken.yaml:2: This is not YAML: did not find expected ',' or ']'.",
            "  Check the indentation, the colons and the brackets."),
        Row(
            "keys list --config space.yaml",
            "error: space.yaml:1: “com example” is not a bundle id. Use letters, digits, hyphens "
                + "and periods only, as App Store Connect shows it."),
        Row(
            "report revenue --from 2026-13-01 --to 2026-12-01",
            "error: There is no day 2026-13-01: see --from.",
            "  Write days such as 2026-01-31."),
        Row(
            "report revenue --from 2026-12-01 --to soon",
            "error: “soon” is not a day: see --to.",
            "  Write days such as 2026-01-31."),
        Row(
            "report revenue --from 2026-12-01", "error: --from and --to belong together.",
            "  Write both, such as --from 2026-01-01 --to 2026-06-30."),
        Row(
            "reconcile money --from 2026-12-02 --to 2026-12-01",
            "error: --to, 2026-12-01, is before --from, 2026-12-02.",
            "  Write the first day after --from, and the last one after --to."),
        Row(
            "webhooks torture http://127.0.0.1:1/ --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "error: No receiver answers at http://127.0.0.1:1/: the connection was refused.",
            "  Start the receiver, and name the URL that it listens at."),
        Row(
            "webhooks torture http://no.such.invalid --secret "
                + "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "error: No receiver answers at http://no.such.invalid: "
                + "there is no host no.such.invalid.",
            "  Start the receiver, and name the URL that it listens at."),
    ]

    @Test(arguments: rows)
    func `a command that fails says why in one sentence, and names a remedy`(row: Row) async throws
    {
        let output = try await BuiltProgram.output(
            of: Self.files + """
                exec 2>&1
                timeout 60 "$perennial" \(row.command) || echo "exit code $?"
                """)
        #expect(output.split(separator: "\n").map(String.init) == row.says + ["exit code 1"])
    }

    @Test func `a missing App Store key is a note of perennial check, and keys create ignores it`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: Self.files + """
                exec 2>&1
                "$perennial" keys create --kind app --config birds.yaml --database p.sqlite
                "$perennial" check --config birds.yaml --database p.sqlite
                """)
        let lines = output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("pk_birds_") == true, "\(output)")
        let about = lines.filter { $0.contains("app_store") }
        #expect(
            about == [
                "note  birds.yaml:1: App birds has no app_store. Add `app_store:` with an In-App "
                    + "Purchase key, so that purchases can be checked if notifications are missed."
            ], "\(output)")
    }

    @Test func `if a server's port is in use, the server says so before it opens the database`()
        async throws
    {
        let output = try await BuiltProgram.output(
            of: Self.files + """
                echo 'dashboard: {url: "http://localhost:8080"}' >>birds.yaml
                python3 -c 'import socket, time
                s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
                print(s.getsockname()[1], flush=True); time.sleep(120)' >port & taker=$!
                trap 'kill $taker' EXIT
                until [ -s port ]; do sleep 0.05; done
                timeout 60 "$perennial" serve --config birds.yaml --database p.sqlite \\
                    --port "$(cat port)" 2>&1 | sed "s/$(cat port)/PORT/" || true
                """)
        let lines = output.split(separator: "\n").filter { !$0.hasPrefix("warning: ") }
        #expect(
            lines == [
                "error: Port PORT is in use.",
                "  Stop the other program, or choose another port with --port.",
            ], "\(output)")
    }

    @Test func `the program prints its version`() async throws {
        let output = try await BuiltProgram.output(of: #""$perennial" --version"#)
        #expect(output == "\(Perennial.configuration.version)\n")
        #expect(output.contains(#/^\d+\.\d+\.\d+/#))
    }
}
