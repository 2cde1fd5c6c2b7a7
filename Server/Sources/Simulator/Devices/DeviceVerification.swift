import AppStoreFormats
import Crypto

/// Binds a document to the device that received it ("deviceVerification" in StoreKit's
/// documentation): the SHA-384 of a nonce followed by the device's own identifier, both UUIDs in
/// lower case. Needs no change of the world: the nonce is derived from the document's id and
/// signing time.
struct DeviceVerification: Sendable {
    private let hardware: LegacyDevice

    init(seed: UInt64, deviceID: String) {
        hardware = LegacyDevice(seed: seed, name: deviceID)
    }

    /// The device's `AppStore.deviceVerificationID`.
    var id: String {
        LegacyDevice.uuidText(
            LegacyDevice.noise("verification", hardware.seed, hardware.name, count: 16)
        ).lowercased()
    }

    /// The two fields of a document with this id that is signed at this moment.
    func fields(
        of documentID: String, signed: AppStoreDate?
    ) -> (verification: String, nonce: String) {
        let name = "\(hardware.name) \(documentID) \(signed?.milliseconds ?? 0)"
        let nonce = LegacyDevice.uuidText(
            LegacyDevice.noise("nonce", hardware.seed, name, count: 16)
        ).lowercased()
        return (verification(with: nonce), nonce)
    }

    /// The value that binds a document with a nonce to this device.
    func verification(with nonce: String) -> String {
        let hash = Array(SHA384.hash(data: Array((nonce + id).utf8)))
        return String(decoding: Base64.standard.encode(hash), as: UTF8.self)
    }
}

extension AppStoreSimulator {
    /// The identifier that a device's documents are bound to: StoreKit's
    /// `AppStore.deviceVerificationID`.
    package func verificationID(of deviceID: String) throws(SimulatorProblem) -> String {
        let device = try world.device(deviceID)
        return DeviceVerification(seed: settings.seed, deviceID: device.id).id
    }

    /// The payload of a transaction as the App Store signs it for a device. A device without a
    /// network has the last payload that it received.
    func payload(of transaction: StoreTransaction, on deviceID: String) -> TransactionPayload {
        guard let cache = phones[deviceID]?.cache else {
            return bound(world.payload(of: transaction, at: clock.now), to: deviceID)
        }
        var known = cache.world
        return bound(known.payload(of: transaction, at: cache.at), to: deviceID)
    }

    /// The renewal info of a subscription as the App Store signs it for a device. A device without
    /// a network has the last renewal info that it received.
    func renewalPayload(of subscription: Subscription, on deviceID: String) -> RenewalPayload {
        guard let cache = phones[deviceID]?.cache else {
            return bound(world.renewalPayload(of: subscription, at: clock.now), to: deviceID)
        }
        var known = cache.world
        return bound(known.renewalPayload(of: subscription, at: cache.at), to: deviceID)
    }

    func bound(_ payload: RenewalPayload, to deviceID: String) -> RenewalPayload {
        let verification = DeviceVerification(seed: settings.seed, deviceID: deviceID)
        let fields = verification.fields(
            of: "renewal of \(payload.originalTransactionId ?? "")", signed: payload.signedDate)
        var payload = addressed(payload, to: deviceID)
        (payload.deviceVerification, payload.deviceVerificationNonce) = fields
        return payload
    }

    func bound(_ payload: TransactionPayload, to deviceID: String) -> TransactionPayload {
        let verification = DeviceVerification(seed: settings.seed, deviceID: deviceID)
        let fields = verification.fields(
            of: payload.transactionId ?? "", signed: payload.signedDate)
        var payload = addressed(payload, to: deviceID)
        (payload.deviceVerification, payload.deviceVerificationNonce) = fields
        return payload
    }

    func bound(_ payload: AppTransactionPayload, to deviceID: String) -> AppTransactionPayload {
        let verification = DeviceVerification(seed: settings.seed, deviceID: deviceID)
        let fields = verification.fields(
            of: payload.appTransactionId ?? "", signed: payload.receiptCreationDate)
        var payload = addressed(payload, to: deviceID)
        (payload.deviceVerification, payload.deviceVerificationNonce) = fields
        return payload
    }
}
