/// An address at which the server listens, such as `127.0.0.1:9090`.
package struct ListenAddress: Hashable, Sendable {
    private static let charactersMax = 255
    /// Hosts that stand for all addresses of the machine.
    private static let anyHosts: Set = ["0.0.0.0", "::", "*"]

    package var host: String
    package var port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `HOST:PORT`, with an IPv6 address in brackets.
    ///
    /// - Parameter setting: the setting that contains the text.
    /// - Throws: ``StartFailure`` if the text is not such an address.
    init(_ text: String, for setting: String) throws(StartFailure) {
        guard text.count <= Self.charactersMax, let colon = text.lastIndex(of: ":"),
            let host = Self.host(text[..<colon])
        else {
            throw StartFailure(
                "“\(text)” is not a valid \(setting).",
                remedy: "Write HOST:PORT, such as 127.0.0.1:9090.")
        }
        self.host = host
        port = try ProcessSettings.port(String(text[text.index(after: colon)...]), for: setting)
    }

    /// Throws ``StartFailure`` if two of the addresses are the same.
    static func requireDistinct(_ addresses: [ListenAddress?]) throws(StartFailure) {
        let known = addresses.compactMap(\.self)
        for (index, address) in known.enumerated()
        where known.prefix(index).contains(where: address.overlaps) {
            throw StartFailure(
                "\(address.host):\(address.port) is configured twice.",
                remedy: "Choose different addresses for host and port, listen_metrics, "
                    + "listen_secret, and listen_dashboard.")
        }
    }

    /// The URL at which programs on this machine reach the address, without a final slash. An
    /// address that stands for all addresses is reached at the loopback address.
    var localURL: String {
        if Self.anyHosts.contains(host) { return "http://127.0.0.1:\(port)" }
        return "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// Whether only programs on this machine can reach the address.
    var isLoopback: Bool {
        host == "localhost" || host == "::1" || host.wholeMatch(of: /127(\.[0-9]{1,3}){3}/) != nil
    }

    private static func host(_ text: Substring) -> String? {
        var host = text
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let isPlain = host.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || ".-:%_".contains($0))
        }
        return isPlain && !host.isEmpty ? String(host) : nil
    }

    /// Whether a server cannot listen on both addresses. Port 0 stands for any free port, and never
    /// overlaps.
    private func overlaps(_ other: ListenAddress) -> Bool {
        guard port == other.port, port != 0 else { return false }
        return host == other.host || Self.anyHosts.contains(host)
            || Self.anyHosts.contains(other.host)
    }
}
