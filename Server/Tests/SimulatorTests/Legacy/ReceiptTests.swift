import AppStoreFormats
import Crypto
import Foundation
import Testing
import X509

@testable import Simulator

/// What receipts contain, and that other programs accept them.
@Suite struct ReceiptTests {
    private func receipt(
        _ stage: Stage, on device: String = "anna-1", guid: [UInt8]? = nil
    ) async throws -> AppReceipt {
        let text = try await stage.simulator.receipt(on: device, guid: guid)
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        return try stage.simulator.authority.receipts.receipt(in: file)
    }

    private func products(_ receipt: AppReceipt) -> [String?] {
        receipt.purchases.map { $0[.productID]?.text }.sorted { ($0 ?? "") < ($1 ?? "") }
    }

    private static func shop() throws -> StoreKitFile {
        func product(_ id: String, _ type: ProductType) -> StoreKitProduct {
            StoreKitProduct(id: id, referenceName: id, type: type, price: 990)
        }
        return StoreKitFile(
            oneTimeProducts: [
                product("gems", .consumable), product("map", .nonConsumable),
                product("season", .nonRenewing),
            ], groups: try ExampleShop.file().groups)
    }

    @Test func `a receipt contains every period and every one-time purchase`() async throws {
        let stage = try Stage(shop: Self.shop())
        for product in ["pro.yearly", "gems", "map", "season"] { try await stage.buy(product) }
        try await stage.advance("P1W")
        let receipt = try await receipt(stage)
        #expect(products(receipt) == ["gems", "map", "pro.yearly", "pro.yearly", "season"])
        let kinds = receipt.purchases.map { $0[.kind]?.integer }
        #expect(Set(kinds) == [0, 1, 2, 3])
        for purchase in receipt.purchases {
            let isSubscription = purchase[.kind]?.integer == 3
            #expect((purchase[.expires]?.date != nil) == isSubscription)
            #expect((purchase[.webOrderLineItemID]?.integer != 0) == isSubscription)
            #expect((purchase[.isIntroductory] != nil) == isSubscription)
        }
    }

    @Test func `a receipt has Apple's attributes, with the values of its environment`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let known = Set([8, 20, 1, 3, 11, 15, 16, 25, 10, 14, 13, 19, 9, 4, 0, 5, 2, 12, 18, 7, 6])
        let production = try await receipt(stage)
        #expect(Set(production.attributes.map { Int($0.number) }) == known)
        #expect(production[.receiptType]?.text == "Production")
        #expect(production[.appAppleID]?.integer == ExampleShop.appAppleID)
        #expect(try production[.created]?.date == moment(Stage.noon))
        #expect(production[.opaqueValue]?.version == 2)
        let inApp = try require(production.purchases.first, "no purchase")
        let fields = Set((1701...1719).map { Int64($0) } + [1722])
        #expect(Set(inApp.attributes.map(\.number)) == fields)

        try await stage.simulator.addDevice(account: "ben", environment: .sandbox)
        try await stage.buy("pro.monthly", on: "ben-1")
        let sandbox = try await receipt(stage, on: "ben-1")
        #expect(sandbox[.receiptType]?.text == "ProductionSandbox")
        #expect(sandbox[.appAppleID]?.integer == 0 && sandbox[.downloadID]?.integer == 0)
        #expect(try sandbox[.originallyPurchased]?.date == moment("2013-08-01T07:00:00Z"))
        #expect(sandbox[.originalApplicationVersion]?.text == "1.0")
        #expect(sandbox[.downloaded]?.text == "")
    }

    @Test(arguments: SimulatedEnvironment.allCases)
    func `an app transaction has the same app details as the receipt`(
        environment: SimulatedEnvironment
    ) async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna", environment: environment)
        try await stage.advance("P1D")
        let signed = try await stage.simulator.appTransaction(on: "anna-1")
        let app = try decode(AppTransactionPayload.self, signed)
        let receipt = try await receipt(stage)
        #expect(app.originalPurchaseDate == receipt[.originallyPurchased]?.date)
        #expect(app.originalApplicationVersion == receipt[.originalApplicationVersion]?.text)
        #expect(app.applicationVersion == receipt[.applicationVersion]?.text)
        let isSandbox = environment == .sandbox
        let first = try moment(isSandbox ? "2013-08-01T07:00:00Z" : Stage.noon)
        #expect(app.originalPurchaseDate == first)
        #expect(app.originalApplicationVersion == (isSandbox ? "1.0" : "1"))
        // Where the receipt has zeros, the app transaction omits the field.
        let version = receipt[.versionExternalIdentifier]?.integer
        #expect((app.versionExternalIdentifier ?? 0) == version)
        #expect((app.versionExternalIdentifier == nil) == isSandbox)
    }

    @Test func `a receipt shows trials, refunds and upgrades`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly").originalTransactionID
        #expect(try await receipt(stage).purchases.map { $0[.isTrial]?.integer } == [1])
        try await stage.advance("P1W")
        try await stage.simulator.change(id, .refund())
        let refunded = try await receipt(stage).purchases.filter { $0[.cancelled]?.date != nil }
        #expect(refunded.map { $0[.isTrial]?.integer } == [0])
        #expect(try refunded.first?[.cancelled]?.date == moment("2026-01-17T20:00:00Z"))
        #expect(refunded.first?[.cancellationReason]?.integer == 0)
    }

    @Test func `the device hash covers the device's identifier, or the identifier in the request`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let own = try await stage.simulator.vendorIdentifier(of: "anna-1")
        let bytes = LegacyDevice(seed: 1, name: "anna-1").guid
        #expect(LegacyDevice.uuidText(bytes) == own)
        for guid in [nil, [1, 2, 3, 4, 5, 6] as [UInt8]?] {
            let receipt = try await receipt(stage, guid: guid)
            let hashed = try require(receipt.hashedBytes(guid: guid ?? bytes), "nothing to hash")
            #expect(receipt[.deviceHash]?.value == Array(Insecure.SHA1.hash(data: hashed)))
        }
    }

    @Test func `reading a receipt again changes nothing, and returns the same bytes`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let one = try await stage.simulator.receipt(on: "anna-1")
        #expect(try await stage.simulator.receipt(on: "anna-1") == one)
        try await stage.advance("PT1S")
        #expect(try await stage.simulator.receipt(on: "anna-1") != one)
    }

    @Test(arguments: ReceiptDigest.allCases)
    func `OpenSSL verifies a receipt with the receipt root as the only trusted root`(
        digest: ReceiptDigest
    ) async throws {
        let stage = try Stage { $0.receiptDigest = digest }
        try await stage.buy("pro.monthly")
        let text = try await stage.simulator.receipt(on: "anna-1")
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let receipts = try stage.simulator.authority.receipts
        let folder = try TemporaryFolder()
        let root = try folder.write("root.pem", pem(receipts.rootDER))
        let payload = try receipts.receipt(in: file).bytes
        let written = folder.path("payload")
        let command = [
            "cms", "-verify", "-inform", "DER", "-purpose", "any", "-out", written, "-CAfile", root,
            "-in",
        ]
        guard OpenSSL.isInstalled else { return print("skipped: no openssl") }
        #expect(try OpenSSL.run(command + [folder.write("receipt", file)]) == 0)
        #expect(try folder.read("payload") == payload)
        let stranger = try folder.write("other.pem", pem(stage.simulator.rootDER))
        let unrooted = command.map { $0 == root ? stranger : $0 }
        #expect(try OpenSSL.run(unrooted + [folder.write("receipt", file)]) != 0)
        var changed = file
        changed[file.count / 10] ^= 1
        #expect(try OpenSSL.run(command + [folder.write("changed", changed)]) != 0)
    }

    private func pem(_ der: [UInt8]) throws -> [UInt8] {
        Array(try Certificate(derEncoded: der).serializeAsPEM().pemString.utf8)
    }

    @Test func `a receipt with one changed byte is refused, wherever the byte is`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let text = try await stage.simulator.receipt(on: "anna-1")
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let authority = try stage.simulator.authority.receipts
        let content = try require(ReceiptEnvelope(parsing: file), "no envelope").content
        // Changes the content and the signature, but not the certificates that are not part of the
        // chain.
        let places = Array(stride(from: 70, to: content.count, by: 7)) + [file.count - 1]
        for place in places {
            var changed = file
            changed[place] ^= 0x20
            #expect(throws: ReceiptRefusal.self, "\(place)") { try authority.receipt(in: changed) }
        }
        let stranger = try ReceiptAuthority()
        #expect(throws: ReceiptRefusal.notAuthentic) { try stranger.receipt(in: file) }
    }

    @Test func `an authority that is restored from its stored form accepts its own receipts`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let text = try await stage.simulator.receipt(on: "anna-1")
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let again = try SigningAuthority(stored: stage.simulator.authority.stored)
        #expect(try again.receipts.receipt(in: file).purchases.count == 1)
        #expect(try again.receipts.rootDER == stage.simulator.authority.receipts.rootDER)
    }

    @Test func `the certificates have Apple's marker extensions`() throws {
        let authority = try Stage.authority.get().receipts
        let chain = try (authority.certificates + [authority.transactionCertificate]).map {
            try Certificate(derEncoded: $0)
        }
        #expect(chain[0].extensions[oid: [1, 2, 840, 113635, 100, 6, 11, 1]] != nil)
        #expect(chain[1].extensions[oid: [1, 2, 840, 113635, 100, 6, 2, 1]] != nil)
        for (child, parent) in [(0, 1), (1, 2), (3, 2)] {
            #expect(
                chain[parent].publicKey.isValidSignature(chain[child].signature, for: chain[child]))
        }
    }

    @Test func `a transaction receipt in the format used before iOS 7 is one signed transaction`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let text = try await stage.simulator.transactionReceipt(of: id)
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        let authority = try stage.simulator.authority.receipts
        let (receipt, environment) = try authority.transaction(in: file)
        #expect(environment == .production && receipt.transactionID == id)
        #expect(try receipt.expires == moment("2026-02-10T20:00:00Z"))
        #expect(receipt.bundleID == ExampleShop.bundleID)
        var changed = try TransactionReceiptFile(parsing: file)
        let later = String(decoding: changed.signedBytes, as: UTF8.self).replacing(
            "2026", with: "2036")
        changed.signedBytes = Array(later.utf8)
        let forged = changed.bytes
        #expect(throws: ReceiptRefusal.notAuthentic) { try authority.transaction(in: forged) }
    }
}
