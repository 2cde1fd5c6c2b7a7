import Engine
import HTTPServer
import Ledger
import OpenIDConnect
import Storage
import Testing

@testable import Program

/// The section `sign_in` of the dashboard.
@Suite struct SignInConfigurationTests {
    /// The required keys of `openid`, with valid values.
    private static let required = [
        ("issuer", "https://login.example.com/realms/birds"), ("client_id", "perennial"),
        ("client_secret_env", "SECRET"), ("roles", "{admins: admin, helpers: {a: support}}"),
    ]

    /// - Parameter lines: the keys of `dashboard` besides `url`.
    private static func read(_ lines: String) throws -> DashboardConfiguration {
        let text =
            "apps:\n  a:\n    bundle_id: x\ndashboard:\n  url: https://store.example.com\n" + lines
        let file = try ConfigurationFile(
            text, environment: ["SECRET": " a secret\n", "EMPTY": " \n"],
            file: { $0 == "secret" ? Array("in a file\n".utf8) : nil })
        return try #require(file.dashboard)
    }

    /// The section with one key changed. The key is then on the last line.
    ///
    /// - Parameter value: nil to leave the key out.
    private static func section(_ key: String, _ value: String?) -> String {
        var pairs = required.filter { $0.0 != key }
        if let value { pairs.append((key, value)) }
        return "  sign_in:\n    openid:\n"
            + pairs.map { "      \($0.0): \($0.1)\n" }.joined()
    }

    @Test
    func `a provider's settings need issuer, client, secret and roles, and others have defaults`()
        throws
    {
        let dashboard = try Self.read(Self.section("scopes", nil))
        let provider = try #require(dashboard.provider)
        #expect(dashboard.takesPasswords)
        #expect(provider.settings.issuer.text == "https://login.example.com/realms/birds")
        #expect(provider.settings.clientID == "perennial")
        #expect(provider.settings.clientSecret.text == "a secret")
        #expect(provider.settings.scopes == ["openid", "profile"])
        #expect(provider.settings.groupsClaim == "groups")
        #expect(
            provider.settings.redirectURL == "https://store.example.com/login/openid/answer")
        #expect(provider.name == "login.example.com" && provider.sessionLife == .hours(12))
        #expect(provider.roles.roles(of: ["admins"]) == OperatorRoles(everywhere: .admin))
        #expect(provider.roles.roles(of: ["helpers"]) == OperatorRoles(byApp: ["a": .support]))
        #expect(try Self.read("").provider == nil)
    }

    @Test func `every key of the sign_in settings is read`() throws {
        let dashboard = try Self.read(
            """
              sign_in:
                passwords: false
                openid:
                  issuer: http://127.0.0.1:8081
                  name: Birds
                  client_id: store
                  client_secret_file: secret
                  scopes: [groups, email]
                  groups_claim: realm_access.roles
                  session_hours: 720
                  roles: {readers: viewer}
            """)
        let provider = try #require(dashboard.provider)
        #expect(!dashboard.takesPasswords)
        #expect(provider.settings.issuer.text == "http://127.0.0.1:8081")
        #expect(provider.name == "Birds" && provider.sessionLife == .hours(720))
        #expect(provider.settings.clientID == "store")
        #expect(provider.settings.clientSecret.text == "in a file")
        #expect(provider.settings.scopes == ["openid", "groups", "email"], "openid is added")
        #expect(provider.settings.groupsClaim == "realm_access.roles")
        #expect(provider.roles.roles(of: ["readers"]) == OperatorRoles(everywhere: .viewer))
    }

    private static let manyScopes = (1...21).map { "s\($0)" }.joined(separator: ", ")
    private static let manyGroups = (1...201).map { "g\($0): admin" }.joined(separator: ", ")
    private static let longName = String(repeating: "x", count: 61)
    private static let longGroup = String(repeating: "x", count: 257)

    /// A key of `openid`, its value (nil: left out), and what the problem and its remedy say.
    private static let wrong: [(key: String, value: String?, says: String, remedy: String)] = [
        ("issuer", nil, "“…” is not the issuer", "https address"),
        ("issuer", "http://login.example.com", "is not the issuer", "Only a provider on this"),
        ("issuer", "login.example.com", "is not the issuer", "`issuer: https://login."),
        ("issuer", "'https://login.example.com/?a=b'", "is not the issuer", "https address"),
        ("issuer", "'https://a:b@login.example.com'", "is not the issuer", "https address"),
        ("issuer", "[https://login.example.com]", "“…” is not the issuer", "https address"),
        ("name", "''", "not a name of a provider", "`name: Birds`"),
        ("name", "[Birds]", "not a name of a provider", "`name: Birds`"),
        ("name", longName, "not a name of", "at most 60 characters"),
        ("client_id", nil, "has no client_id", "Register this server"),
        ("client_id", "''", "has no client_id", "Register this server"),
        ("client_secret_env", nil, "no client secret", "Let client_secret_env name"),
        ("client_secret_env", "MISSING", "no client secret", "Let client_secret_env name"),
        ("client_secret_env", "EMPTY", "no client secret", "Let client_secret_env name"),
        ("scopes", "{a: b}", "scopes must be a list", "Write `[a, b]`"),
        ("scopes", "[[openid]]", "A name is expected", "Write `[a, b]`"),
        ("scopes", "['openid profile']", "not a list of scopes", "`[openid, profile]`"),
        ("scopes", "[\(manyScopes)]", "not a list of scopes", "at most 20 words"),
        ("groups_claim", "''", "groups_claim must be text", "`groups_claim: groups`"),
        ("groups_claim", "[groups]", "groups_claim must be text", "`groups_claim: groups`"),
        ("session_hours", "0", "session_hours is out of range", "from 1 to 720"),
        ("session_hours", "721", "session_hours is out of range", "from 1 to 720"),
        ("session_hours", "twelve", "not a whole number", "digits"),
        ("roles", nil, "needs roles for 1 to 200 groups", "`roles: {admins: admin}`"),
        ("roles", "admin", "needs roles for 1 to 200 groups", "`roles: {admins: admin}`"),
        ("roles", "{}", "needs roles for 1 to 200 groups", "`roles: {admins: admin}`"),
        ("roles", "{\(manyGroups)}", "needs roles for 1 to 200 groups", "`roles: {admins:"),
        ("roles", "{admins: owner}", "“owner” is not a role", "viewer, support, admin"),
        ("roles", "{admins: [admin]}", "is not a role", "viewer, support, admin"),
        ("roles", "{admins: {}}", "This group has no role", "`{birds: support}`"),
        ("roles", "{admins: {toads: admin}}", "no app with the name “toads”", "Use one of a"),
        ("roles", "{admins: {a: owner}}", "“owner” is not a role", "viewer, support, admin"),
        ("roles", "{'': admin}", "not the name of a group", "at most 256 bytes"),
        ("roles", "{\(longGroup): admin}", "not the name of a group", "at most 256 bytes"),
        ("issuers", "https://a.example", "“issuers” is unknown in openid", "issuer"),
    ]

    @Test func `a wrong value in openid is reported with its line and a remedy`() throws {
        for (key, value, says, remedy) in Self.wrong {
            let comment: Comment = "\(key): \(value ?? "left out")"
            let section = Self.section(key, value)
            let failure = #expect(throws: ConfigurationFailure.self, comment) {
                try Self.read(section)
            }
            let problems = failure?.complaints ?? []
            let found = problems.first { $0.message.contains(says) }
            #expect(found?.remedy.contains(remedy) == true, "\(comment): \(problems)")
            #expect(problems.count == 1, "\(comment): \(problems)")
            // Five lines are above the section.
            let last = 5 + section.split(separator: "\n").count
            if value != nil { #expect(found?.line == last, "\(comment): \(problems)") }
            #expect(!problems.contains { "\($0)".contains("a secret") }, comment)
        }
    }

    @Test func `if the file of the client secret is missing, this is reported`() throws {
        let section = Self.section("client_secret_env", nil) + "      client_secret_file: none\n"
        let failure = #expect(throws: ConfigurationFailure.self) { try Self.read(section) }
        #expect(
            failure?.complaints.map(\.message) == ["There is no client secret for the provider."])
        #expect(failure?.complaints.first?.remedy.contains("client_secret_file a file") == true)
    }

    @Test func `an empty openid section is reported once for each required key`() throws {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Self.read("  sign_in: {openid: {}}")
        }
        let text = failure?.complaints.map(\.message).joined(separator: "\n") ?? ""
        for says in ["not the issuer", "no client_id", "no client secret", "needs roles"] {
            #expect(text.contains(says), "\(text)")
        }
        #expect(failure?.complaints.count == 4, "\(text)")
    }

    @Test(arguments: [
        ("true", "sign_in must be a mapping", "`key: value`"),
        ("{passwords: perhaps}", "neither true nor false", "Write true or false"),
        ("{password: false}", "“password” is unknown in sign_in", "passwords"),
        ("{passwords: false}", "Nobody could sign in", "Add `openid:`"),
        ("{openid: birds}", "openid must be a mapping", "`key: value`"),
    ])
    func `a wrong value in sign_in is reported with a remedy`(
        value: String, says: String, remedy: String
    ) throws {
        let failure = try #require(throws: ConfigurationFailure.self) {
            try Self.read("  sign_in: \(value)")
        }
        let problem = try #require(failure.complaints.first { $0.message.contains(says) })
        #expect(problem.line == 6 && problem.remedy.contains(remedy), "\(problem)")
    }

    @Test func `a proxy that names operators and an OpenID provider cannot be configured together`()
        throws
    {
        let proxy = "  trusted_proxy: {addresses: [10.0.0.2], user_header: X-Forwarded-User}\n"
        let failure = try #require(throws: ConfigurationFailure.self) {
            try Self.read(proxy + Self.section("name", "Birds"))
        }
        let problem = try #require(failure.complaints.first)
        #expect(problem.message.contains("Two systems would name operators"))
        #expect(problem.remedy == "Leave out user_header, or openid.")
        #expect(try !Self.read(proxy + "  sign_in: {passwords: false}").takesPasswords)
    }
}
