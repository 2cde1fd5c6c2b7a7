import AppStoreFormats
import Crypto

// Receipts of the world's purchases. Nothing here changes the world.

extension World {
    /// Apple's id for the version of the app that every device runs.
    static let versionExternalIdentifier: Int64 = 860_000_001
    // Values from Apple's own receipts of 2025.
    private static let softwareBuild: Int64 = 1_345_531_957
    private static let clientVersion: Int64 = 180_602
    private static let counter: Int64 = 229
    private static let developerID: Int64 = 284_000_001
    private static let downloadIDsFrom: Int64 = 500_000_000_000_000_000
    private static let opaqueBytes = 54
    /// When every sandbox account first had every app: 2013-08-01T07:00:00Z.
    private static let sandboxOrigin = AppStoreDate(milliseconds: 1_375_340_400_000)

    /// The receipt that a device has of its app, created at a moment.
    ///
    /// - Parameter guid: the device identifier used for the hash. If nil, the device's vendor
    ///   identifier.
    func receipt(
        on deviceID: String, guid: [UInt8]? = nil, at now: AppStoreDate
    ) throws(SimulatorProblem) -> AppReceipt {
        let device = try device(deviceID)
        guard !device.isSignedOut else { throw .signedOut }
        let hardware = LegacyDevice(seed: settings.seed, name: device.id)
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
        let opaque = LegacyDevice.noise("opaque", settings.seed, name, count: 16)
        var receipt = AppReceipt()
        receipt.attributes =
            fixedAttributes(of: lives[device]?.app ?? InstalledApp())
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

    /// The receipt in a verifyReceipt response: the account's current purchases in the receipt of
    /// the same device and app. Its opaque value and hash are kept, so that it still matches the
    /// device.
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
            .text(Field.bundleID, app.bundleID ?? settings.bundleID),
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
        let downloaded = accounts[key]?.downloaded ?? now
        let type: ReceiptType = isProduction ? .production : .sandbox
        let download = LegacyDevice.number(
            "download", settings.seed, key.name, below: UInt64(Self.downloadIDsFrom))
        // In the sandbox these values are zero.
        func number(_ field: Field, _ value: Int64) -> ReceiptAttribute {
            .integer(field, isProduction ? value : 0)
        }
        return [
            .text(Field.receiptType, type.rawValue),
            number(.appAppleID, settings.appAppleID), number(.developerID, Self.developerID),
            number(.downloadID, Self.downloadIDsFrom + download),
            number(.versionExternalIdentifier, Self.versionExternalIdentifier),
            .date(Field.downloaded, isProduction ? downloaded : nil), .date(Field.created, now),
            .date(Field.originallyPurchased, Self.firstDownloaded(downloaded, in: key.environment)),
            .text(
                Field.originalApplicationVersion, originalVersion(of: key)),
            opaque(.opaque6, key, at: now), opaque(.opaque7, key, at: now),
        ]
    }

    /// The version of the app that an account had first, which in the sandbox is always 1.0. Older
    /// and newer documents agree.
    func originalVersion(of key: Account.Key) -> String {
        switch key.environment {
        case .production: originalVersions[key] ?? Self.bundleVersion
        case .sandbox: "1.0"
        }
    }

    /// Since when an account has had the app (Apple's page "originalPurchaseDate").
    static func firstDownloaded(
        _ downloaded: AppStoreDate, in environment: SimulatedEnvironment
    ) -> AppStoreDate {
        switch environment {
        case .production: downloaded
        case .sandbox: sandboxOrigin
        }
    }

    private func opaque(
        _ field: AppReceipt.Field, _ key: Account.Key, at now: AppStoreDate
    ) -> ReceiptAttribute {
        let name = "\(key.name) \(now.milliseconds)"
        let noise = LegacyDevice.noise(
            "opaque \(field.rawValue)", settings.seed, name, count: Self.opaqueBytes)
        return ReceiptAttribute(field.rawValue, value: noise)
    }
}

// MARK: - Transactions

extension World {
    /// The transactions in the older documents of an account, oldest first: all except consumables
    /// that the app has finished.
    func legacyTransactions(
        of key: Account.Key, at now: AppStoreDate
    ) -> [LegacyTransaction] {
        let letterhead = documentContext(of: key)
        let shown = shownTransactions(of: key).filter {
            $0.product.type != .consumable || !finished.contains($0.id)
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
        guard settings.has(.sandboxReceiptsShiftOriginalID), environment == .sandbox else {
            return id
        }
        return id.flatMap { Int64($0) }.map { String($0 + 1) }
    }

    /// The renewal info of an account's subscriptions.
    func legacyRenewals(of key: Account.Key, at now: AppStoreDate) -> [VerifyReceiptRenewal] {
        let letterhead = documentContext(of: key)
        return chains(of: key).map { chain in
            var payload = chain.renewalPayload(signed: now, letterhead)
            payload.originalTransactionId = legacyID(
                payload.originalTransactionId, in: key.environment)
            return VerifyReceiptRenewal(payload)
        }
    }

    /// The account of a transaction. Nil if the transaction is not of this world.
    func owner(of transactionID: String) -> Account.Key? {
        if let once = oneTimePurchases[canonicalID(of: transactionID)] { return once.account }
        return chainOfTransaction[transactionID].flatMap { subscriptions[$0]?.account }
    }
}
