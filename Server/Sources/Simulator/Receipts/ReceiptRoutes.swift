import AppStoreFormats

// Receipts over HTTP.

extension SimulatorRoute {
    static let receiptRoutes = [
        get(
            "/_sim/receipt-root.cer", "The root certificate (DER) that receipts are signed under.",
            gives: .bytes(type: "application/pkix-cert")
        ) { simulator, _ in
            .bytes(try simulator.authority.receipts.rootDER, type: "application/pkix-cert")
        },
        get(
            "/_sim/devices/{id}/receipt", "A device's app receipt, created now.", query: ["guid"],
            gives: .json("AppReceipt")
        ) { simulator, call in
            let id = try call.parameter("id")
            let guid = try call.query["guid"].map(guidBytes)
            let own = try await simulator.vendorIdentifier(of: id)
            return .json([
                "app_receipt": .string(try await simulator.receipt(on: id, guid: guid)),
                "device_guid": .string(call.query["guid"] ?? own),
            ])
        },
        get(
            "/_sim/transactions/{id}/receipt", "One transaction's receipt, as before iOS 7.",
            gives: .json("TransactionReceipt")
        ) { simulator, call in
            let receipt = try await simulator.transactionReceipt(of: call.parameter("id"))
            return .json(["transaction_receipt": .string(receipt)])
        },
    ]

    /// Parses a UUID, or for a Mac the 6 bytes of its network address, in hexadecimal.
    private static func guidBytes(_ text: String) throws(SimulatorProblem) -> [UInt8] {
        let digits = text.filter { $0 != "-" && $0 != ":" }.compactMap(\.hexDigitValue)
        let length = text.count { $0 != "-" && $0 != ":" }
        guard digits.count == length, [32, 12].contains(length) else {
            throw RequestBody.invalidField("guid", "a UUID, or a MAC address for a Mac")
        }
        return stride(from: 0, to: length, by: 2).map {
            UInt8(digits[$0] * 16 + digits[$0 + 1])
        }
    }
}
