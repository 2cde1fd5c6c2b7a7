import Foundation
import Storage

extension PostgresDriver {
    /// The remote hosts to which an address permits unencrypted connections because its `sslmode`
    /// is below `require`. Empty if the address cannot be parsed, or if it names a service, because
    /// the other options are then in the service file.
    package static func unencryptedHosts(
        of url: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [String] {
        guard let address = try? PostgresAddress(url) else { return [] }
        return address.unencryptedHosts(environment)
    }
}

extension PostgresAddress {
    /// The modes that never send unencrypted data: see "SSL Mode Descriptions" in the PostgreSQL
    /// manual.
    private static let encryptedModes: Set = ["require", "verify-ca", "verify-full"]
    /// The `sslmode` that libpq uses by default.
    private static let defaultMode = "prefer"

    fileprivate func unencryptedHosts(_ environment: [String: String]) -> [String] {
        let said = Dictionary(parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        let value = { (word: String, variable: String) in
            [said[word], environment[variable]].compactMap { $0 }.first { !$0.isEmpty }
        }
        guard !Self.encryptedModes.contains(value("sslmode", "PGSSLMODE") ?? Self.defaultMode),
            value("gssencmode", "PGGSSENCMODE") != "require"
        else { return [] }
        // An address without a host uses a local socket, or its host is in a service file.
        let hosts = value("hostaddr", "PGHOSTADDR") ?? value("host", "PGHOST") ?? ""
        return hosts.split(separator: ",").map(String.init).filter { !Self.isLocal($0) }
    }

    /// Whether the host is a socket, or a name or number that always means this machine.
    private static func isLocal(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.hasPrefix("127.")
    }
}
