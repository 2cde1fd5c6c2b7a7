import AppStoreClient

/// How an app uses the App Store: the key, and the hosts of the two environments.
package struct AppStoreAccess: Sendable {
    package let credentials: AppStoreCredentials
    package let hosts: AppStoreHosts

    package init(credentials: AppStoreCredentials, hosts: AppStoreHosts) {
        self.credentials = credentials
        self.hosts = hosts
    }
}
