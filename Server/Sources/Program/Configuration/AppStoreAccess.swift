import AppStoreClient

/// How an app asks the App Store: with which key, and where the two stores listen.
package struct AppStoreAccess: Sendable {
    package let credentials: AppStoreCredentials
    package let hosts: AppStoreHosts

    package init(credentials: AppStoreCredentials, hosts: AppStoreHosts) {
        self.credentials = credentials
        self.hosts = hosts
    }
}
