import AppStoreFormats
import Testing

@testable import Simulator

/// The errors of StoreKit, which a test sets as with `SKTestSession`, and the verification results
/// of documents.
@Suite struct DeviceErrorTests {
    private let device = "/_sim/devices/anna-1"

    private func stage() async throws -> Stage {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        return stage
    }

    @Test
    func `every StoreKit error can be set for purchases, and occurs until the test clears it`()
        async throws
    {
        let device = device
        try await stage().withClient { client in
            for failure in DeviceCall.purchase.failures {
                let armed = try await client.json(
                    "\(device)/errors", #"{"purchase":"\#(failure.rawValue)"}"#)
                #expect(armed["purchase"]?.string == failure.rawValue)
                for _ in 0..<2 {
                    let answer = try await client.json(
                        "\(device)/purchases", #"{"product_id":"seeds.100"}"#)
                    #expect(answer["result"] == "failed")
                    #expect(answer["error"]?.string == failure.rawValue)
                }
            }
            let disarmed = try await client.json("\(device)/errors", #"{"purchase":null}"#)
            #expect(disarmed["purchase"] == .null)
            let answer = try await client.json(
                "\(device)/purchases", #"{"product_id":"seeds.100"}"#)
            #expect(answer["result"] == "purchased")
        }
        #expect(DeviceCall.purchase.failures.count == 15)
    }

    @Test func `a call fails with the error that a test sets for it, and no other call fails`()
        async throws
    {
        let device = device
        try await stage().withClient { client in
            let calls: [(String, String, String?)] = [
                ("products", "/_sim/products?device=anna-1", nil),
                ("sync", "\(device)/sync", "{}"), ("status", "\(device)/statuses", nil),
                ("app_transaction", "\(device)/app-transaction", nil),
            ]
            for (name, _, _) in calls {
                _ = try await client.json("\(device)/errors", #"{"\#(name)":"system_error"}"#)
                for (other, path, body) in calls {
                    let status = other == name ? 409 : 200
                    let answer = try await client.json(path, body, status: status)
                    if other == name { #expect(answer["error"] == "system_error") }
                }
                _ = try await client.json("\(device)/errors", #"{"\#(name)":null}"#)
            }
        }
    }

    @Test func `the sheets for subscriptions, refunds and codes throw the errors that a test sets`()
        async throws
    {
        let stage = try await stage()
        let simulator = stage.simulator
        for call in [DeviceCall.manage, .refund, .redeem] {
            for failure in call.failures {
                try await simulator.setFailures([call: failure], verdict: nil, on: "anna-1")
                let problem = await #expect(throws: SimulatorProblem.self) {
                    try await simulator.check(call, on: "anna-1")
                }
                #expect(problem?.storeKit == failure)
            }
        }
        #expect(DeviceCall.refund.failures.contains(.duplicateRequest))
        #expect(!DeviceCall.manage.failures.contains(.duplicateRequest))
    }

    @Test func `an error that a call cannot throw is refused`() async throws {
        let device = device
        try await stage().withClient { client in
            for body in [
                #"{"products":"invalid_quantity"}"#, #"{"purchase":"duplicate_request"}"#,
                #"{"verification":"verified"}"#, #"{"verify":"unknown"}"#,
            ] {
                let refused = try await client.json("\(device)/errors", body, status: 400)
                #expect(refused["code"] == "bad_request", "\(body)")
            }
        }
    }

    @Test func `each document of a device is listed with its verification result`() async throws {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            func verdicts() async throws -> [JSON?] {
                let bought = try await client.json(
                    "\(device)/purchases", #"{"product_id":"seeds.100"}"#)
                let status = try await client.json("\(device)/statuses")["statuses"]?.array?.first
                let app = try await client.json("\(device)/app-transaction")
                let all = try await client.json("\(device)/transactions")["verifications"]
                let restored = try await client.json("\(device)/restore", "{}")
                return [
                    bought["verification"], status?["verification"],
                    status?["renewal_verification"], app["verification"], all?.array?.first,
                    restored["verifications"]?.array?.first,
                    restored["renewal_verifications"]?.array?.first,
                ]
            }
            #expect(try await verdicts() == Array(repeating: "verified", count: 7))
            for verdict in DocumentVerdict.failures.map(\.rawValue) {
                _ = try await client.json("\(device)/errors", #"{"verification":"\#(verdict)"}"#)
                #expect(try await verdicts() == Array(repeating: .string(verdict), count: 7))
            }
        }
    }

    @Test
    func `a device detects a damaged document, but not a document for another app`()
        async throws
    {
        let stage = try await stage()
        let expected: [(DeviceFault, JSON)] = [
            (.forged, "invalid_signature"), (.truncated, "invalid_encoding"),
            (.wrongApp, "verified"),
        ]
        let device = device
        try await stage.withClient { client in
            for (fault, verdict) in expected {
                try await stage.simulator.setFaults { try $0.devices.order([fault]) }
                let list = try await client.json("\(device)/transactions")
                #expect(list["verifications"] == .array([verdict]), "\(fault)")
            }
        }
        // This document was made for another device.
        try await stage.simulator.addDevice(account: "anna")
        let other = try await stage.simulator.transactions(on: "anna-2")[0]
        let verdict = await stage.simulator.verdict(on: other, by: "anna-1")
        #expect(verdict == .invalidDeviceVerification)
        // This document was made for the server.
        let sent = try await stage.letters()[0].notification.data?.signedTransactionInfo
        let unbound = await stage.simulator.verdict(on: sent ?? "", by: "anna-1")
        #expect(unbound == .missingRequiredProperties)
    }
}
