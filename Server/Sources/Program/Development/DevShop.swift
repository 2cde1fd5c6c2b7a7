import AppStoreFormats
import Engine
import Foundation
import Ledger
import Logging
import Simulator

/// The folder of `perennial dev`: a database, the simulator's root certificate, and the saved
/// virtual time.
///
/// The database is saved, but the simulated world is not. So each new world continues at the time
/// where the last world stopped. Each world has another seed, so that its purchases never have the
/// ids of earlier purchases.
struct DevShop {
    let folder: URL

    init(folder: String) { self.folder = URL(fileURLWithPath: folder, isDirectory: true) }

    var databaseAddress: String { file("dev.sqlite").path }

    static var birds: AppConfiguration {
        get throws {
            let shop = Self.shop(try ExampleShop.file())
            let products = shop.products.filter { $0.type != .consumable }
                .map { ProductID(rawValue: $0.id) }
            var settings = AppSettings(
                id: "birds", bundleID: ExampleShop.bundleID,
                appAppleID: ExampleShop.appAppleID, isSimulated: true,
                entitlements: Self.entitlements(of: products), terms: Self.terms,
                wallets: Self.wallets, content: Self.bulletins,
                offers: OfferCatalogue(shop), soldProducts: shop.productIDs,
                consumption: Self.consumption)
            settings.offerings = OfferingRules(
                placements: Self.placements, familyShareable: shop.familyShareable)
            settings.money.rules.lengths = shop.lengths
            settings.revenueCat = Self.revenueCat
            return AppConfiguration(settings: settings, storeKit: shop, extraRoots: [])
        }
    }

    /// The example app with the files in the folder: its content and the key that signs offers.
    func example() throws -> AppConfiguration {
        var app = try Self.birds
        app.settings.content = try content()
        app.storeKit?.offersKey = try offersKey()
        return app
    }

    /// The only app of a configuration, or the example app if `config` is nil.
    func app(of config: String?) throws -> AppConfiguration {
        guard let config else { return try example() }
        let file = try Outcome.configuration(at: config)
        guard let app = file.apps.first, file.apps.count == 1, app.settings.isSimulated else {
            throw StartFailure(
                "\(config) must have exactly one app, and it must be simulated.",
                remedy: "Write a separate configuration for development, with one app and "
                    + "`simulated: true`.")
        }
        return app
    }

    /// A season lasts three months, and the day of purchase is free. Reminders come a week and a
    /// day before the season's end.
    static let terms = TermRules(products: [
        "season.spring": .init(
            length: Term.Length(months: 3, days: 1), bonusDays: 1, chain: "season",
            reminders: [7, 1])
    ])

    /// The use of purchases is reported to Apple for customers who consented.
    static let consumption = ConsumptionRules(
        policy: .withConsent, hasSample: true, preference: .decline)

    static let wallets = WalletRules(
        credits: ["seeds.100": ["seeds": 100]],
        currencies: ["seeds": .init(spender: .app, offlineMax: 20)])

    static let placements = [
        Placement(
            id: "paywall", products: ["pro.yearly", "pro.monthly"],
            metadata: ["title": .text("See every bird"), "highlighted": .integer(1)])
    ]

    /// The key is public, like the other keys of `perennial dev`.
    static let revenueCat = RevenueCatSettings(
        keys: ["appl_dev_birds"],
        packages: ["pro.monthly": "$rc_monthly", "pro.yearly": "$rc_annual"],
        supportEmail: "help@example.com")

    /// The part of a product's id before the dot is the entitlement that the product gives:
    /// `pro.monthly` gives `pro`. Consumables give no entitlement.
    private static func entitlements(
        of products: [ProductID]
    ) -> [EntitlementID: Set<ProductID>] {
        Dictionary(grouping: products) { product in
            EntitlementID(rawValue: String(product.rawValue.prefix { $0 != "." }))
        }.mapValues { Set($0) }
    }

    /// Makes a folder if it does not exist, and checks that it is writable.
    static func make(_ folder: URL) throws(StartFailure) {
        let files = FileManager.default
        let isThere: Void? = try? files.createDirectory(
            at: folder, withIntermediateDirectories: true)
        guard isThere != nil, files.isWritableFile(atPath: folder.path) else {
            throw StartFailure(
                "The folder \(folder.path) is not writable.",
                remedy: "Name another with --data.")
        }
    }

    /// Deletes the database and the saved time, and nothing else.
    func reset() throws {
        let names = ["dev.sqlite", "dev.sqlite-wal", "dev.sqlite-shm", "simulator-world"]
        for name in names where FileManager.default.fileExists(atPath: file(name).path) {
            try FileManager.default.removeItem(at: file(name))
        }
    }

    /// The authority of earlier runs if there is one, otherwise a new authority. There are separate
    /// files for an authority whose certificates name an OCSP responder, and for an authority whose
    /// certificates name none.
    func authority(ocspURL: String? = nil) throws -> SigningAuthority {
        try Self.make(folder)
        let file = file(ocspURL == nil ? "simulator-authority" : "simulator-authority-ocsp")
        if let stored = FileManager.default.contents(atPath: file.path) {
            let authority = try SigningAuthority(stored: Array(stored))
            if authority.ocspURL == ocspURL { return authority }
        }
        let authority = try SigningAuthority(ocspURL: ocspURL)
        try Data(authority.stored).write(to: file, options: .atomic)
        return authority
    }

    /// The settings of a server and of a simulator that use this folder.
    func settings(
        _ app: AppConfiguration, _ world: World, logger: Logger
    ) throws -> LocalStack.Settings {
        guard let products = app.storeKit else {
            throw StartFailure(
                "The app has no storekit file, so the simulator has nothing to sell.",
                remedy: "Add `storekit: Shop.storekit` to it.")
        }
        var simulator = SimulatorSettings(
            seed: world.seed, now: AppStoreDate(milliseconds: world.now), shop: products,
            bundleID: app.settings.bundleID,
            appAppleID: app.settings.appAppleID ?? ExampleShop.appAppleID)
        if app.settings.bundleID == ExampleShop.bundleID {
            simulator.rules.seats = ExampleShop.seats(in: products)
            simulator.rules.seatInvitations = .developer
        }
        return LocalStack.Settings(
            app: app, simulator: simulator, authority: try authority(),
            databaseAddress: databaseAddress,
            keys: DevelopmentKeys.keys(of: app.settings.id), logger: logger)
    }

    // MARK: - Saved time

    struct World: Codable, Hashable {
        var seed: UInt64
        /// The virtual time of the world, in milliseconds since 1970.
        var now: Int64
    }

    /// The world that was saved last. Nil if there was no world yet.
    func lastWorld() throws -> World? {
        guard let stored = FileManager.default.contents(atPath: file("simulator-world").path)
        else { return nil }
        return try JSONDecoder().decode(World.self, from: stored)
    }

    /// A world whose time and ids come after those of all earlier worlds.
    func nextWorld() throws -> World {
        guard let last = try lastWorld() else {
            return World(seed: 1, now: SimulatorSettings.defaultNow.milliseconds)
        }
        return World(seed: last.seed + 1, now: last.now)
    }

    /// Saves a world. Once this returns, the next world comes after this one, even after a power
    /// failure.
    func save(_ world: World) throws {
        try Disk.replace(file("simulator-world").path, with: JSONEncoder().encode(world))
    }

    private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
}
