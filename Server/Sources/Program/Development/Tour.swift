/// The first commands for a new user to try. The commands can be pasted unchanged. The README shows
/// the same commands.
package enum Tour {
    package static func commands(
        serverPort: Int = 8080, simulatorPort: Int = 8090, key: String = "pk_dev_birds"
    ) -> [String] {
        let server = "localhost:\(serverPort)"
        let simulator = "localhost:\(simulatorPort)"
        let bearer = "-H 'Authorization: Bearer \(key)'"
        let anna = "curl -s '\(server)/v1/customers/anna?pretty' \(bearer)"
        return [
            #"curl -s -X POST \#(simulator)/_sim/devices -d '{"account":"anna"}'"#,
            "T=$(curl -s -X POST "
                + "'\(simulator)/_sim/devices/anna-1/purchases?only=signed_transaction' "
                + #"-d '{"product_id":"pro.monthly"}')"#,
            "curl -s \(server)/v1/purchases \(bearer) "
                + #"-d "{\"customer_id\":\"anna\",\"signed_transactions\":[\"$T\"]}""#,
            #"curl -s -X POST \#(simulator)/_sim/clock -d '{"advance":"P31D"}'"#,
            anna,
            "curl -s -X POST \(simulator)/_sim/subscriptions/anna:pro.monthly/refund; \(anna)",
        ]
    }

    /// The text that `perennial dev` prints.
    ///
    /// - Parameter isContinued: whether the database has data from earlier worlds.
    static func text(
        serverPort: Int, simulatorPort: Int, appKey: String, secretKey: String, isExample: Bool,
        isContinued: Bool
    ) -> String {
        var lines = [
            "phone      http://localhost:\(serverPort)/phone",
            "server     http://localhost:\(serverPort)",
            "simulator  http://localhost:\(simulatorPort)",
            "keys       \(appKey) (app)  \(secretKey) (secret)",
        ]
        if isContinued {
            lines += [
                "", "The server has earlier data. The simulator begins without accounts:",
                "earlier purchases do not renew. Start with --fresh to delete the old data.",
            ]
        }
        if isExample {
            lines += [
                "", "Try, in another terminal: anna buys, a month goes by, she is refunded.", "",
            ]
            lines += commands(
                serverPort: serverPort, simulatorPort: simulatorPort, key: appKey
            ).map { "  \($0)" }
        }
        return (lines + ["", "Ctrl-C stops both."]).joined(separator: "\n")
    }
}
