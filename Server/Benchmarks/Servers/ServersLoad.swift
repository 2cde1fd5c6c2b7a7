import AppStoreFormats
import Simulator

/// The requests that are sent to several servers while they are measured.
struct ServersLoad: Sendable {
    /// The notifications that are posted before the measurement, so that the tables are not empty.
    var before: [[UInt8]] = []
    var measured: [[UInt8]]
    var connections: Int
    /// The ids of customers who are read during the measurement; empty if nobody is read.
    var customers: [String] = []
    /// Whether every event is posted to a webhook.
    var hasWebhook = false

    /// The renewals of purchases that are spread over the tables.
    static func renewals(_ count: Int, _ maker: DocumentMaker) throws -> Self {
        let purchases = try (0..<count).map {
            HTTPRequestBytes.notification(try maker.notification(.init(number: $0, period: 0)))
        }
        let renewals = try (0..<count).map {
            let number = $0 * Self.stride % count
            return HTTPRequestBytes.notification(
                try maker.notification(.init(number: number, period: 1)))
        }
        return Self(before: purchases, measured: renewals, connections: 48)
    }

    /// The step between purchases. It is a prime number, so that each purchase comes exactly once,
    /// unless the number of purchases is a multiple of the step.
    private static let stride = 7919

    /// The load of a year of random customers: everything that the App Store sends about them, from
    /// their first purchase on. The servers' database is new. Meanwhile, customers are read, and a
    /// webhook gets every event.
    static func population(
        _ accounts: Int, signedBy authority: SigningAuthority
    ) throws -> Self {
        var settings = SimulatorSettings(seed: 7, shop: try FullShop.file())
        let year = Int64(DocumentMaker.weekMilliseconds) * 53
        settings.now = AppStoreDate(milliseconds: settings.now.milliseconds - year)
        let run = try PopulationRun(accounts: accounts, months: 12, settings)
        var tally = PopulationRun.Tally()
        var load = Self(measured: [], connections: 16, hasWebhook: true)
        for district in 0..<run.districts {
            try run.simulate(
                district, &tally, signedBy: authority, books: { _ in },
                signed: { notification in
                    load.measured.append(HTTPRequestBytes.notification(notification))
                    if let token = accountToken(of: notification) { load.customers.append(token) }
                })
        }
        return load
    }

    private static func accountToken(of notification: String) -> String? {
        guard let outer = CompactJWS(notification)?.payload,
            let signed = (try? JSON(parsing: outer))?["data"]?["signedTransactionInfo"]?.string,
            let inner = CompactJWS(signed)?.payload
        else { return nil }
        return (try? JSON(parsing: inner))?["appAccountToken"]?.string
    }
}
