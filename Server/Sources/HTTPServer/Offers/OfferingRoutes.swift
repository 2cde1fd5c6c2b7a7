import Engine
import HTTPBasics
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The route that says what an app sells.
struct OfferingRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.offerings, "offerings",
                    "What the app sells, and what each product gives",
                    description: """
                        Placements, terms, wallets, and the rules that an app needs offline. \
                        Signed by the key of the app's tokens.
                        """,
                    parameters: [.environment, .ifNoneMatch], output: .cacheable(Offerings.self)),
                list)
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let environment = try RequestReader.environment(in: request)
        let (offerings, version) = try await Offerings.signed(
            by: engine, of: holder.app, in: environment)
        return try EntityTag(version).respond(to: request) { try JSONResponse.ok(offerings) }
    }
}

extension Offerings {
    /// An app's offerings with their signature, and their version, which changes with their content
    /// or with the key.
    package static func signed(
        by engine: Engine, of app: AppID, in environment: Ledger.Environment
    ) async throws -> (offerings: Offerings, version: String) {
        var offerings = Offerings(of: try engine.context.settings(of: app), in: environment)
        let signature = try await engine.offers.sign(
            offerings: try ContractEncoder().encode(offerings), of: app, in: environment)
        offerings.jws = signature.jws
        return (offerings, signature.version)
    }

    /// An app's offerings without a signature.
    package init(of app: AppSettings, in environment: Ledger.Environment) {
        self.init(
            app: app.id.rawValue, bundleID: app.bundleID,
            environment: StoreEnvironment(environment),
            products: app.productsThatGive.map { Product($0, of: app) },
            placements: app.offerings.placements.map { Placement($0) },
            wallets: Dictionary(
                uniqueKeysWithValues: app.wallets.allCurrencies.map {
                    ($0.rawValue, Wallet(app.wallets.currency($0)))
                }),
            timeZone: app.terms.clock.name, overlap: app.terms.overlap.rawValue,
            unconfirmedHoldHours: Int(app.rules.unconfirmedHold.components.seconds / 3600),
            offlineDays: app.tokens?.offlineDays ?? TokenRules.offlineDaysDefault)
    }
}

extension AppSettings {
    /// The products that give entitlements, a term or wallet credits, sorted by id.
    fileprivate var productsThatGive: [ProductID] {
        Set(entitlements.values.flatMap(\.self)).union(terms.products.keys)
            .union(wallets.credits.keys).sorted()
    }
}

extension Offerings.Product {
    fileprivate init(_ id: ProductID, of app: AppSettings) {
        let credits = app.wallets.credits[id] ?? [:]
        self.init(
            productID: id.rawValue,
            entitlements: app.entitlements.filter { $0.value.contains(id) }.keys.sorted()
                .map(\.rawValue),
            term: app.terms.products[id].map { Offerings.Term($0) },
            credits: Dictionary(uniqueKeysWithValues: credits.map { ($0.key.rawValue, $0.value) }),
            familyShareable: app.offerings.familyShareable[id])
    }
}

extension Offerings.Term {
    fileprivate init(_ rules: TermRules.Product) {
        self.init(
            months: rules.length.months, days: rules.length.days - rules.bonusDays,
            bonusDays: rules.bonusDays, chain: rules.chain)
    }
}

extension Offerings.Placement {
    fileprivate init(_ placement: Ledger.Placement) {
        self.init(
            placementID: placement.id.rawValue, products: placement.products.map(\.rawValue),
            metadata: placement.metadata.mapValues { MetadataValue($0) })
    }
}

extension MetadataValue {
    fileprivate init(_ value: Ledger.Placement.Metadata) {
        self =
            switch value {
            case .null: .null
            case .flag(let flag): .flag(flag)
            case .integer(let number): .integer(number)
            case .number(let number): .number(number)
            case .text(let text): .text(text)
            case .list(let values): .list(values.map { MetadataValue($0) })
            case .members(let values): .members(values.mapValues { MetadataValue($0) })
            }
    }
}

extension Offerings.Wallet {
    fileprivate init(_ currency: WalletRules.Currency) {
        self.init(
            spend: currency.spender.rawValue, maxOffline: currency.offlineMax,
            allowsDebt: currency.allowsDebt)
    }
}
