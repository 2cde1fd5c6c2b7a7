import AppStoreClient
import AppStoreFormats
import Engine
import Ledger

/// Whether App Store Connect accepts an app's key for reports.
struct ReportKeyCheck {
    let text: String
    let isOK: Bool

    /// How many days ago the tested day is. Apple already has that day's report, if anything was
    /// sold.
    private static let daysAgo: Int64 = 3

    /// Returns nil if the app has no key for reports.
    static func of(_ app: AppConfiguration, _ stores: AppStores, at now: Instant) async -> Self? {
        let name = app.settings.id
        guard let source = stores.reportFileSource(of: name) else { return nil }
        let day = WallClock.utc.dayNumber(at: now) - daysAgo
        do {
            let request = try SalesReportRequest(
                .sales, .day(AppStoreFormats.CivilDate(daysSince1970: day)),
                vendorNumber: source.vendorNumber)
            if case .refused(let refusal) = try await source.client.report(request),
                refusal.version == nil
            {
                return Self(
                    text: "key for reports of \(name): \(refusal.sentence). Compare vendor_number "
                        + "and the role of the key with App Store Connect.", isOK: false)
            }
            return Self(
                text: "key for reports of \(name): App Store Connect accepts it for vendor "
                    + source.vendorNumber, isOK: true)
        } catch let failure as AppStoreFailure {
            return Self(
                text: "key for reports of \(name): \(failure) \(failure.remedy)", isOK: false)
        } catch {
            return Self(text: "key for reports of \(name): \(error)", isOK: false)
        }
    }
}
