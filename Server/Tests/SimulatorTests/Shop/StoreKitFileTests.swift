import AppStoreFormats
import Foundation
import Testing

@testable import Simulator

/// StoreKit files of other projects, if they are present. Otherwise skipped: no vectors.
private enum Vectors {
    static let folder: URL? = {
        let environment = ProcessInfo.processInfo.environment["PERENNIAL_VECTORS"]
        let root = URL(filePath: #filePath).appending(path: "../../../../../../shared/vectors")
        let folder = (environment.map { URL(filePath: $0) } ?? root.standardizedFileURL)
            .appending(path: "storekit-files")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    static func texts() throws -> [(String, [UInt8])] {
        guard let folder else { return [] }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.filter { $0.hasSuffix(".storekit") }.map { name in
            (name, [UInt8](try Data(contentsOf: folder.appending(path: name))))
        }
    }

    static func files() throws -> [(String, StoreKitFile)] {
        try texts().map { ($0.0, try StoreKitFile(parsing: $0.1)) }
    }
}

@Suite struct StoreKitFileTests {
    // The test is skipped if there are no vectors.
    @Test(.enabled(if: Vectors.folder != nil))
    func `StoreKit files of every version are read, with every product`() throws {
        let files = try Vectors.files()
        #expect(files.count == 24)
        let all = files.map(\.1)
        #expect(Set(all.map(\.majorVersion)) == [1, 2, 3, 4, 5, 6])
        #expect(all.map(\.oneTimeProducts.count).reduce(0, +) == 50)
        #expect(all.map(\.groups.count).reduce(0, +) == 41)
        #expect(all.flatMap(\.groups).map(\.subscriptions.count).reduce(0, +) == 86)
    }

    // The test is skipped if there are no vectors.
    @Test(.enabled(if: Vectors.folder != nil))
    func `offers of every kind in StoreKit files are found`() throws {
        let terms = try Vectors.files().flatMap(\.1.products).compactMap(\.subscription)
        #expect(terms.compactMap(\.introductoryOffer).count == 35)
        #expect(terms.flatMap(\.winBackOffers).map(\.id) == ["subscription_silver_winback_offer"])
        #expect(
            terms.flatMap(\.promotionalOffers).contains {
                $0.price == 20_150 && $0.periodCount == 2
            })
        let free = terms.compactMap(\.introductoryOffer).filter { $0.discount == .freeTrial }
        #expect(!free.isEmpty && free.allSatisfy { $0.price == 0 })
    }

    // The test is skipped if there are no vectors.
    @Test(.enabled(if: Vectors.folder != nil))
    func `Xcode's files have no findings except redacted private keys`() throws {
        var odd: [String] = []
        for (name, text) in try Vectors.texts() {
            let findings = ShopLint(try JSON(parsing: text)).findings
            odd += findings.map { "\(name): \($0)" }
        }
        #expect(odd.count == 4 && odd.allSatisfy { $0.contains("private key cannot be read") })
    }

    // The test is skipped if there are no vectors.
    @Test(.enabled(if: Vectors.folder != nil))
    func `offer codes say which customers may redeem them, and billing plans have prices`() throws {
        let terms = try Vectors.files().flatMap(\.1.products).compactMap(\.subscription)
        let codes = terms.flatMap(\.codeOffers)
        #expect(codes.count == 11 && codes.filter(\.isStackable).count == 7)
        #expect(codes.filter { $0.customers == .all }.count == 4)
        #expect(codes.filter { $0.customers == .new }.count == 3)
        #expect(terms.flatMap(\.billingPlans).count == 5)
        let monthly = terms.compactMap(\.monthlyPlan)
        #expect(monthly.map(\.price) == [500] && monthly.map(\.commitmentPrice) == [6000])
        #expect(terms.flatMap(\.introductoryOffers).filter { $0.billingPlan != nil }.count == 2)
    }

    // The test is skipped if there are no vectors.
    @Test(.enabled(if: Vectors.folder != nil))
    func `the settings of every StoreKit file are read`() throws {
        let settings = try Vectors.files().map(\.1.settings)
        #expect(settings.compactMap(\.storefront).filter { $0 == "USA" }.count == 16)
        #expect(
            settings.compactMap(\.timeRate).filter { $0 != 0 }.sorted() == [
                6, 6, 1001, 1001, 1003, 1003,
            ])
        #expect(settings.compactMap(\.billingGracePeriodEnabled).count == 8)
        #expect(settings.allSatisfy { $0.asksToBuy != true && $0.failsPurchases != true })
    }

    @Test
    func `the example shop has subscriptions of three levels, and one product of each other kind`()
        throws
    {
        let shop = try ExampleShop.file()
        let prices = Dictionary(uniqueKeysWithValues: shop.products.map { ($0.id, $0.price) })
        #expect(
            prices == [
                "pro.monthly": 9990, "pro.yearly": 59_990, "plus.monthly": 4990,
                "premium.monthly": 19_990, "season.spring": 14_990, "guide": 24_990,
                "seeds.100": 1990,
            ])
        let yearly = shop.products.first { $0.id == "pro.yearly" }?.subscription
        #expect(yearly?.introductoryOffer?.period == BillingPeriod(1, .week))
    }

    @Test(arguments: [
        ("4.99", 4990), ("29", 29_000), ("0.5", 500), ("0.00", 0), ("1.234", 1234),
    ])
    func `a price in a StoreKit file is read in thousandths`(text: String, price: Int64) {
        #expect(StoreKitFile.milliunits(text) == price)
    }

    @Test(arguments: ["0,99", "", "4.", ".5", "4.9999", "-1", "1e3", " 4.99", "4.99 €", "4.9.9"])
    func `a price that is not a plain number is refused`(text: String) {
        #expect(StoreKitFile.milliunits(text) == nil)
    }

    @Test func `the error about an invalid price names the product`() {
        let text = """
            {"products": [{"productID": "gem", "type": "Consumable", "displayPrice": "0,99"}]}
            """
        #expect {
            try StoreKitFile(parsing: text.utf8)
        } throws: { "\($0)".contains("product gem") && "\($0)".contains("0,99") }
    }

    @Test func `a recurring product outside a group is refused`() {
        let text = """
            {"products": [{"productID": "pro", "type": "RecurringSubscription",
             "displayPrice": "1.00"}]}
            """
        #expect {
            try StoreKitFile(parsing: text.utf8)
        } throws: { "\($0)".contains("subscriptionGroups") }
    }

    @Test func `the list of introductory offers takes precedence over the single one`() throws {
        let text = """
            {"subscriptionGroups": [{"id": "g", "subscriptions": [{"productID": "pro",
             "displayPrice": "1.00", "recurringSubscriptionPeriod": "P1M",
             "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
             "introductoryOffers": [{"paymentMode": "free", "subscriptionPeriod": "P3D"}]}]}]}
            """
        let file = try StoreKitFile(parsing: text.utf8)
        #expect(
            file.products.first?.subscription?.introductoryOffer?.period == BillingPeriod(3, .day))
    }
}
