import AppStoreFormats

// The files that devices have of what was bought.

extension AppStoreSimulator {
    /// A device's app receipt, Base64, made now. Harmless to repeat.
    ///
    /// - Parameter guid: the device's identifier that the receipt's hash is of; the device's own
    ///   where it is nil.
    package func receipt(on deviceID: String, guid: [UInt8]? = nil) throws -> String {
        let receipt = try world.receipt(on: deviceID, guid: guid, at: clock.now)
        return try authority.receipts.text(receipt, digest: settings.receiptDigest)
    }

    /// What a device's receipt says, made now: as rows of its purchases, the oldest first.
    package func receiptRows(on deviceID: String) throws -> [VerifyReceiptRow] {
        try world.receipt(on: deviceID, at: clock.now).purchases.map { VerifyReceiptRow($0) }
    }

    /// The identifier that the hash of a device's receipts is of.
    package func vendorIdentifier(of deviceID: String) throws(StoreProblem) -> String {
        let device = try world.device(deviceID)
        return LegacyDevice(seed: settings.seed, name: device.id).vendorIdentifier
    }

    /// One transaction as an app before iOS 7 received it, Base64.
    package func transactionReceipt(of transactionID: String) throws -> String {
        let id = world.ownID(of: transactionID)
        guard let owner = world.owner(of: id),
            let transaction = world.legacyTransactions(of: owner, at: clock.now).first(where: {
                $0.payload.transactionId == id
            })
        else { throw StoreProblem.unknownTransaction(transactionID) }
        let receipt = transaction.receipt(
            appAppleID: settings.appAppleID, device: world.hardware(of: owner))
        return try authority.receipts.text(receipt, in: owner.environment)
    }
}

extension World {
    /// The numbers of an account's hardware, where it does not matter which of its devices.
    func hardware(of key: Account.Key) -> LegacyDevice {
        LegacyDevice(seed: settings.seed, name: "\(key.name)-1")
    }
}
