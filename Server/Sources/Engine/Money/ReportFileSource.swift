import AppStoreClient
import AppStoreFormats
import Ledger
import Synchronization

/// The settings for fetching the App Store's report files of one developer.
package struct ReportFileSource: Sendable {
    /// The client, with a team key of App Store Connect.
    package var client: AppStoreClient
    package var vendorNumber: String
    /// The regions of financial reports, such as `US`.
    package var regions: [String]
    /// Decompresses a downloaded file.
    package var decompress: @Sendable ([UInt8]) throws -> [UInt8]

    package init(
        client: AppStoreClient, vendorNumber: String, regions: [String] = ["ZZ"],
        decompress: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) {
        self.client = client
        self.vendorNumber = vendorNumber
        self.regions = regions
        self.decompress = decompress
    }
}

/// The results for the files that were due.
package struct ReportFetchOutcome: Hashable, Sendable {
    /// Names of files that were stored.
    package var stored: [String] = []
    /// Names of reports that will have no file, because nothing was sold.
    package var empty: [String] = []
    /// Sentences about files that were not stored, each with its remedy.
    package var troubles: [String] = []
    /// The requests that need not be repeated at once: for files that could not be read or do not
    /// exist yet, and for reports that Apple refused, of which no file was fetched.
    package var leftOut: Set<String> = []
    /// Whether Apple was not available or refused the key, so that the rest was not fetched.
    package var isBrokenOff = false

    package init() {}

    package var count: Int { stored.count + empty.count }
}

/// The versions that Apple was found to serve, where they are not the newest known ones. A new
/// process determines them again.
final class ReportVersions: Sendable {
    private let versions = Mutex<[String: SalesReportVersion]>([:])

    subscript(report: String) -> SalesReportVersion? {
        get { versions.withLock { $0[report] } }
        set { versions.withLock { $0[report] = newValue } }
    }
}

/// The time when this process repeats what failed: by app, by report, or by file.
final class ReportFetchPauses: Sendable {
    /// After Apple was not available, refused the key, or had no file yet.
    static let afterFailure = Duration.seconds(1800)
    /// After a file that could not be read, or a report that Apple refused.
    static let afterRefusal = Duration.seconds(86_400)
    /// The maximum number of remembered files; with more, all of them are tried again.
    private static let namesMax = 10_000

    private let ends = Mutex<[String: Instant]>([:])

    func isPaused(_ name: String, at now: Instant) -> Bool {
        ends.withLock { $0[name].map { now < $0 } ?? false }
    }

    func pause(_ name: String, until: Instant) {
        ends.withLock {
            if $0.count >= Self.namesMax { $0 = [:] }
            $0[name] = until
        }
    }
}
