import Foundation
import Testing

@testable import StoreKit

extension StoreTests {
    @Suite struct VerificationTests {
        private typealias Failure = VerificationResult<Transaction>.VerificationError

        @Test(
            arguments: [
                ("revoked_certificate", .revokedCertificate),
                ("invalid_certificate_chain", .invalidCertificateChain),
                ("invalid_device_verification", .invalidDeviceVerification),
                ("invalid_encoding", .invalidEncoding), ("invalid_signature", .invalidSignature),
                ("missing_required_properties", .missingRequiredProperties),
            ] as [(String, VerificationResult<Transaction>.VerificationError)])
        func `a document is unverified if the test sets a verification error`(
            word: String, failure: VerificationResult<Transaction>.VerificationError
        ) async throws {
            let world = try await World()
            let phone = try await world.device()
            let bought = try await phone.buy("pro.monthly")
            let product = try await phone.product("guide")
            try await world.post("devices/\(phone.id)/errors", ["verification": word])
            try await phone.use {
                let latest = try #require(await Transaction.latest(for: "pro.monthly"))
                guard case .unverified(let transaction, failure) = latest else {
                    Issue.record("\(latest)")
                    return
                }
                #expect(transaction.id == bought.id)
                #expect(latest.unsafePayloadValue.id == bought.id)
                #expect(throws: failure) { try latest.payloadValue }
                #expect(failure.errorDescription?.isEmpty == false)
                guard case .success(.unverified(_, failure)) = try await product.purchase() else {
                    Issue.record("The purchase is not unverified.")
                    return
                }
                let status = try #require(await bought.subscriptionStatus)
                guard case .unverified = status.transaction, case .unverified = status.renewalInfo,
                    case .unverified = try await AppTransaction.shared
                else {
                    Issue.record("\(status)")
                    return
                }
            }
        }

        @Test func `the parsed parts of a document equal those of its signed text`() async throws {
            let phone = try await World().device()
            try await phone.buy("pro.monthly")
            try await phone.use {
                let result = try #require(await Transaction.latest(for: "pro.monthly"))
                let parts = result.jwsRepresentation.split(separator: ".")
                #expect(result.signedData == Data("\(parts[0]).\(parts[1])".utf8))
                #expect(result.signatureData.count == 64)
                #expect(String(decoding: result.headerData, as: UTF8.self).contains("ES256"))
                #expect(result.signedDate == result.unsafePayloadValue.signedDate)
                let app = try await AppTransaction.shared
                #expect(app.jwsRepresentation.hasPrefix("ey"))
                #expect(AppStore.deviceVerificationID != nil)
            }
        }

        @Test func `the app transaction has the versions and ids of the installed app`()
            async throws
        {
            let world = try await World()
            let phone = try await world.device()
            try await world.post(
                "devices/\(phone.id)/app", ["version": "3.0", "original_version": "2.1"])
            let bought = try await phone.buy("guide")
            try await phone.use {
                let app = try await AppTransaction.shared.payloadValue
                #expect(app.appVersion == "3.0" && app.originalAppVersion == "2.1")
                #expect(app.bundleID == "com.example.birds" && app.appID == 1_234_567_890)
                #expect(app.environment == .production && app.originalPlatform == .iOS)
                #expect(app.appTransactionID == bought.appTransactionID)
                #expect(app.deviceVerification.count == 48)
            }
        }
    }
}
