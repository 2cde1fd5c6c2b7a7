import Foundation
import Storage

extension PostgresDatabase {
    /// The hosts across a network to which an address allows a connection that is not encrypted:
    /// its `sslmode` is below `require`. None where it cannot be read, or names a service, whose
    /// file says the rest.
    package static func hostsInTheClear(
        of url: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [String] {
        guard let address = try? PostgresAddress(url) else { return [] }
        return address.hostsInTheClear(environment)
    }
}

extension PostgresAddress {
    /// By which nothing is sent in the clear: "SSL Mode Descriptions" in PostgreSQL's manual.
    private static let encrypting: Set = ["require", "verify-ca", "verify-full"]
    /// What libpq does where nobody says.
    private static let usualMode = "prefer"

    fileprivate func hostsInTheClear(_ environment: [String: String]) -> [String] {
        let said = Dictionary(words.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        let value = { (word: String, variable: String) in
            [said[word], environment[variable]].compactMap { $0 }.first { !$0.isEmpty }
        }
        guard !Self.encrypting.contains(value("sslmode", "PGSSLMODE") ?? Self.usualMode),
            value("gssencmode", "PGGSSENCMODE") != "require"
        else { return [] }
        // Without a host it is a socket of this machine, or what a service's file says.
        let hosts = value("hostaddr", "PGHOSTADDR") ?? value("host", "PGHOST") ?? ""
        return hosts.split(separator: ",").map(String.init).filter { !Self.isHere($0) }
    }

    /// A socket, or this machine by a name or number that is always its own.
    private static func isHere(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.hasPrefix("127.")
    }
}
