import AppStoreFormats
import Crypto
import Foundation
import Testing

@testable import Simulator

/// A document belongs to the device that got it.
@Suite(.timeLimit(.minutes(5))) struct DeviceVerificationTests {
    /// Verifies a document as an app does, by StoreKit's documentation.
    private func isBound(_ verification: String?, _ nonce: String?, to id: String) -> Bool {
        guard let nonce, UUID(uuidString: nonce) != nil, nonce == nonce.lowercased() else {
            return false
        }
        let hash = Data(SHA384.hash(data: Data((nonce + id).utf8)))
        return verification == hash.base64EncodedString()
    }

    @Test func `the documents of a device match that device and no other device`() async throws {
        let stage = try Stage()
        let bought = try await stage.buy("pro.monthly").signedTransaction
        try await stage.simulator.addDevice(account: "anna")
        let simulator = stage.simulator
        let ids = try await [
            simulator.verificationID(of: "anna-1"), simulator.verificationID(of: "anna-2"),
        ]
        #expect(ids[0] != ids[1] && ids.allSatisfy { UUID(uuidString: $0) != nil })
        var documents = [bought]
        documents += try await simulator.transactions(on: "anna-1")
        documents += try await simulator.entitlements(on: "anna-1")
        documents += try await simulator.unfinished(on: "anna-1")
        documents += try await simulator.statuses(on: "anna-1").map(\.signedTransaction)
        documents += try await simulator.restore(on: "anna-1").signedTransactions
        #expect(documents.count == 6)
        for document in documents {
            let payload = try decode(TransactionPayload.self, document)
            let fields = (payload.deviceVerification, payload.deviceVerificationNonce)
            #expect(isBound(fields.0, fields.1, to: ids[0]))
            #expect(!isBound(fields.0, fields.1, to: ids[1]))
        }
        let app = try decode(
            AppTransactionPayload.self, await simulator.appTransaction(on: "anna-2"))
        #expect(isBound(app.deviceVerification, app.deviceVerificationNonce, to: ids[1]))
    }

    @Test
    func `each device on a stream gets documents bound to it, but the server gets unbound ones`()
        async throws
    {
        let stage = try Stage()
        for _ in 1...2 { try await stage.simulator.addDevice(account: "anna") }
        let first = try await stage.simulator.updates(on: "anna-2", limit: 1)
        try await stage.buy("pro.monthly")
        for await event in first {
            let signed = event.content["signed_transaction"]?.string ?? ""
            let payload = try decode(TransactionPayload.self, signed)
            let id = try await stage.simulator.verificationID(of: "anna-2")
            #expect(isBound(payload.deviceVerification, payload.deviceVerificationNonce, to: id))
        }
        let told = try await stage.letters()[0].transaction
        #expect(told.deviceVerification == nil && told.deviceVerificationNonce == nil)
    }

    @Test func `renewal info is bound to its device, and has a separate nonce`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let simulator = stage.simulator
        let id = try await simulator.verificationID(of: "anna-1")
        let status = try await simulator.statuses(on: "anna-1")[0]
        let restored = try await simulator.restore(on: "anna-1").signedRenewalInfos
        for document in [status.signedRenewalInfo] + restored {
            let renewal = try decode(RenewalPayload.self, document)
            let nonce = renewal.deviceVerificationNonce
            #expect(isBound(renewal.deviceVerification, nonce, to: id))
            let beside = try decode(TransactionPayload.self, status.signedTransaction)
            #expect(nonce != beside.deviceVerificationNonce)
        }
        // The documents that the server gets belong to no device.
        #expect(try await stage.letters()[0].renewal?.deviceVerification == nil)
    }

    @Test func `a document that is signed again has another nonce`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        var nonces: [String?] = []
        for _ in 0..<2 {
            let signed = try await stage.simulator.transactions(on: "anna-1")[0]
            nonces.append(try decode(TransactionPayload.self, signed).deviceVerificationNonce)
        }
        #expect(nonces[0] != nonces[1] && nonces[0] != nil)
    }

    @Test func `a device's id can be read over HTTP`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        try await stage.withClient { client in
            let json = try await client.json("/_sim/devices/anna-1/app-transaction")
            let id = try await stage.simulator.verificationID(of: "anna-1")
            #expect(json["device_verification_id"]?.string == id)
        }
    }
}
