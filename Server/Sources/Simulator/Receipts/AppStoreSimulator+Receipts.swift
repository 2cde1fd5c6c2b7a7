import AppStoreFormats

// The receipts that devices have of purchases.

extension AppStoreSimulator {
    /// A device's app receipt in Base64, created now. Changes nothing in the world.
    ///
    /// - Parameter guid: the device identifier used for the receipt's hash. If nil, the device's
    ///   own identifier is used.
    package func receipt(on deviceID: String, guid: [UInt8]? = nil) throws -> String {
        let receipt = try ReceiptBooks(world).receipt(on: deviceID, guid: guid, at: clock.now)
        return try authority.receipts.text(receipt, digest: settings.receiptDigest)
    }

    /// The content of a device's receipt, created now: rows of its purchases, oldest first.
    package func receiptRows(on deviceID: String) throws -> [VerifyReceiptRow] {
        try ReceiptBooks(world).receipt(on: deviceID, at: clock.now).purchases.map {
            VerifyReceiptRow($0)
        }
    }

    /// The device identifier used for the hash of a device's receipts.
    package func vendorIdentifier(of deviceID: String) throws(SimulatorProblem) -> String {
        let device = try world.device(deviceID)
        return LegacyDevice(seed: settings.seed, name: device.id).vendorIdentifier
    }

    /// One transaction in Base64, as an app received it before iOS 7.
    package func transactionReceipt(of transactionID: String) throws -> String {
        let id = world.transactionIDs.canonicalID(of: transactionID)
        guard let owner = world.owner(of: id),
            let transaction = ReceiptBooks(world).legacyTransactions(of: owner, at: clock.now)
                .first(where: {
                    $0.payload.transactionId == id
                })
        else { throw SimulatorProblem.unknownTransaction(transactionID) }
        let receipt = transaction.receipt(
            appAppleID: settings.appAppleID, device: ReceiptBooks(world).hardware(of: owner))
        return try authority.receipts.text(receipt, in: owner.environment)
    }
}
