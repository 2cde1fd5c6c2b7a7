import AppStoreFormats
import Crypto

/// The receipts of a world's purchases.
struct ReceiptBooks: Sendable {
    let world: World

    init(_ world: World) { self.world = world }
}

// MARK: - Receipts

extension ReceiptBooks {
    // Values from Apple's own receipts of 2025.
    private static let softwareBuild: Int64 = 1_345_531_957
    private static let clientVersion: Int64 = 180_602
    private static let counter: Int64 = 229
    private static let developerID: Int64 = 284_000_001
    private static let downloadIDsFrom: Int64 = 500_000_000_000_000_000
    private static let opaqueBytes = 54

    /// The receipt that a device has of its app, created at a moment.
    ///
    /// - Parameter guid: the device identifier used for the hash. If nil, the device's vendor
    ///   identifier is used.
    func receipt(
        on deviceID: String, guid: [UInt8]? = nil, at now: AppStoreDate
    ) throws(SimulatorProblem) -> AppReceipt {
        let device = try world.device(deviceID)
        guard !device.isSignedOut else { throw .signedOut }
        let hardware = LegacyDevice(seed: world.settings.seed, name: device.id)
        return receipt(of: device.account, device: device.id, guid: guid ?? hardware.guid, at: now)
    }

    /// The receipt of an account, if it does not matter which of its devices has it.
    func receipt(of key: Account.Key, at now: AppStoreDate) -> AppReceipt {
        let hardware = hardware(of: key)
        return receipt(of: key, device: hardware.name, guid: hardware.guid, at: now)
    }

    private func receipt(
        of key: Account.Key, device: String, guid: [UInt8], at now: AppStoreDate
    ) -> AppReceipt {
        let name = "\(device) \(now.milliseconds)"
        let opaque = LegacyDevice.noise("opaque", world.settings.seed, name, count: 16)
        var receipt = AppReceipt()
        receipt.attributes =
            fixedAttributes(of: world.lives[device]?.app ?? InstalledApp())
            + attributes(of: key, at: now)
        receipt.attributes.append(
            ReceiptAttribute(AppReceipt.Field.opaqueValue.rawValue, version: 2, value: opaque))
        receipt.purchases = legacyTransactions(of: key, at: now).map(\.purchase)
        if let hashed = receipt.hashedBytes(guid: guid) {
            let hash = Array(Insecure.SHA1.hash(data: hashed))
            receipt.attributes.append(
                ReceiptAttribute(AppReceipt.Field.deviceHash.rawValue, value: hash))
        }
        return receipt
    }

    /// The receipt in a verifyReceipt response: the receipt `old` with the account's current
    /// purchases. The opaque value and hash of `old` are kept, so that the receipt still matches
    /// the device.
    func receipt(
        renewing old: AppReceipt, of account: Account.Key, at now: AppStoreDate
    ) -> AppReceipt {
        let kept: [AppReceipt.Field] = [.opaqueValue, .deviceHash]
        let ofApp: [AppReceipt.Field] = [.bundleID, .applicationVersion]
        let fixed = fixedAttributes(of: InstalledApp()).map { attribute in
            ofApp.first { $0.rawValue == attribute.number }.flatMap { old[$0] } ?? attribute
        }
        return AppReceipt(
            attributes: fixed + attributes(of: account, at: now)
                + kept.compactMap { old[$0] },
            purchases: legacyTransactions(of: account, at: now).map(\.purchase))
    }

    private func fixedAttributes(of app: InstalledApp) -> [ReceiptAttribute] {
        typealias Field = AppReceipt.Field
        return [
            .text(Field.bundleID, app.bundleID ?? world.settings.bundleID),
            .text(Field.applicationVersion, app.version),
            .integer(Field.softwareBuild, Self.softwareBuild), .ascii(Field.ageRating, "4+"),
            .integer(Field.clientVersion, Self.clientVersion),
            .integer(Field.counter, Self.counter), .text(Field.empty20, ""),
            .integer(Field.three, 3),
        ]
    }

    private func attributes(of key: Account.Key, at now: AppStoreDate) -> [ReceiptAttribute] {
        typealias Field = AppReceipt.Field
        let isProduction = key.environment == .production
        let downloaded = world.accounts[key]?.downloaded ?? now
        let type: ReceiptType = isProduction ? .production : .sandbox
        let download = LegacyDevice.number(
            "download", world.settings.seed, key.name, below: UInt64(Self.downloadIDsFrom))
        // In the sandbox these values are zero.
        func number(_ field: Field, _ value: Int64) -> ReceiptAttribute {
            .integer(field, isProduction ? value : 0)
        }
        return [
            .text(Field.receiptType, type.rawValue),
            number(.appAppleID, world.settings.appAppleID), number(.developerID, Self.developerID),
            number(.downloadID, Self.downloadIDsFrom + download),
            number(.versionExternalIdentifier, World.versionExternalIdentifier),
            .date(Field.downloaded, isProduction ? downloaded : nil), .date(Field.created, now),
            .date(
                Field.originallyPurchased, World.firstDownloaded(downloaded, in: key.environment)),
            .text(
                Field.originalApplicationVersion, world.originalVersion(of: key)),
            opaque(.opaque6, key, at: now), opaque(.opaque7, key, at: now),
        ]
    }

    private func opaque(
        _ field: AppReceipt.Field, _ key: Account.Key, at now: AppStoreDate
    ) -> ReceiptAttribute {
        let name = "\(key.name) \(now.milliseconds)"
        let noise = LegacyDevice.noise(
            "opaque \(field.rawValue)", world.settings.seed, name, count: Self.opaqueBytes)
        return ReceiptAttribute(field.rawValue, value: noise)
    }
}

// MARK: - Transactions

extension ReceiptBooks {
    /// The transactions in the older documents of an account, oldest first: all except consumables
    /// that the app has finished.
    func legacyTransactions(
        of key: Account.Key, at now: AppStoreDate
    ) -> [LegacyTransaction] {
        let letterhead = world.documentContext(of: key)
        let shown = world.shownTransactions(of: key).filter {
            $0.product.type != .consumable || !world.finished.contains($0.id)
        }
        return shown.map { legacyTransaction($0, letterhead, at: now) }
    }

    func legacyTransaction(
        _ transaction: StoreTransaction, _ letterhead: DocumentContext, at now: AppStoreDate
    ) -> LegacyTransaction {
        var payload = transaction.payload(signed: now, letterhead)
        payload.originalTransactionId = legacyID(
            payload.originalTransactionId, in: transaction.account.environment)
        return LegacyTransaction(payload: payload)
    }

    /// The original transaction id as written in receipts.
    private func legacyID(_ id: String?, in environment: SimulatedEnvironment) -> String? {
        guard world.settings.has(.sandboxReceiptsShiftOriginalID), environment == .sandbox else {
            return id
        }
        return id.flatMap { Int64($0) }.map { String($0 + 1) }
    }

    /// The renewal info of an account's subscriptions.
    func legacyRenewals(of key: Account.Key, at now: AppStoreDate) -> [VerifyReceiptRenewal] {
        let letterhead = world.documentContext(of: key)
        return world.chains(of: key).map { chain in
            var payload = chain.renewalPayload(signed: now, letterhead)
            payload.originalTransactionId = legacyID(
                payload.originalTransactionId, in: key.environment)
            return VerifyReceiptRenewal(payload)
        }
    }

    /// The hardware identifiers of an account, if it does not matter which device is used.
    func hardware(of key: Account.Key) -> LegacyDevice {
        LegacyDevice(seed: world.settings.seed, name: "\(key.name)-1")
    }
}
