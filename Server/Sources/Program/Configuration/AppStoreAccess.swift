import AppStoreClient

/// How an app uses the App Store: the key, and the hosts of the two environments.
package struct AppStoreAccess: Sendable {
    package let credentials: AppStoreCredentials
    package let hosts: AppStoreHosts
    /// How the App Store's report files are fetched. Nil if the files are not fetched.
    package var reports: ReportsAccess?

    package init(credentials: AppStoreCredentials, hosts: AppStoreHosts) {
        self.credentials = credentials
        self.hosts = hosts
    }
}

/// A team key of App Store Connect, and the vendor of its reports.
package struct ReportsAccess: Sendable {
    package let credentials: AppStoreCredentials
    package let hosts: AppStoreHosts
    package let vendorNumber: String
    package let regions: [String]
}
