import Engine
import Foundation
import PerennialContract
import Testing

@testable import HTTPServer

/// A receipt that is too large is not reported as forged: loyal customers have the largest
/// receipts.
@Suite struct LargeReceiptTests {
    private static let limit = 8_388_608

    private static func text(bytes count: Int) -> String {
        Data(repeating: 0x30, count: count).base64EncodedString()
    }

    @Test(arguments: [limit + 1, 9_437_184, 12_582_912])
    func `a receipt over the limit is refused as too large, with a helpful remedy`(bytes: Int)
        async throws
    {
        try await TestServer.run { server in
            for path in [Paths.purchases, Paths.preview] {
                let answer = try await server.send(
                    .post, path,
                    body: #"{"customer_id":"anna","app_receipt":"\#(Self.text(bytes: bytes))"}"#)
                #expect(answer.status == 413, "\(path)")
                let problem = try answer.problem
                #expect(problem.code == .bodyTooLarge)
                #expect(problem.remedy.contains("signed_transactions"))
            }
        }
    }

    @Test func `a receipt of exactly the maximum size is read`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                .post, Paths.purchases,
                body: #"{"customer_id":"anna","app_receipt":"\#(Self.text(bytes: Self.limit))"}"#)
            #expect(try answer.problem.code == .purchaseNotTrusted)
        }
    }

    /// Status 21002 would mean that the receipt is bad, and the app's server would then discard
    /// the receipt.
    @Test(arguments: [limit + 1, 12_582_912])
    func `verifyReceipt answers 21005 for a receipt over the limit`(
        bytes: Int
    ) async throws {
        try await TestServer.run { server in
            for path in [Paths.verifyReceipt, Paths.sandboxVerifyReceipt] {
                let answer = try await server.send(
                    .post, path, key: nil, body: #"{"receipt-data":"\#(Self.text(bytes: bytes))"}"#)
                #expect(answer.status == 200)
                #expect(answer.text.contains("21005"), "\(answer.text)")
            }
        }
    }
}
