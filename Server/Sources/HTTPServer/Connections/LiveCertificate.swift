import Synchronization

/// The certificate in force. Each new connection is encrypted with it. Open connections keep the
/// certificate with which they began.
package final class LiveCertificate: Sendable {
    private let inForce: Mutex<ServerCertificate>

    package init(_ certificate: ServerCertificate) { inForce = Mutex(certificate) }

    package var current: ServerCertificate { inForce.withLock { $0 } }

    /// Serves another certificate to new connections from now on.
    package func replace(_ certificate: ServerCertificate) {
        inForce.withLock { $0 = certificate }
    }
}
