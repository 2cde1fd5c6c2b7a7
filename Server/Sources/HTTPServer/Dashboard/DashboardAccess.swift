import Dashboard
import Engine
import Hummingbird
import Ledger

/// Who may look at the dashboard. A server without one has no dashboard.
package struct DashboardAccess: Sendable {
    /// Everybody who uses this machine, without signing in. The pages answer only there: see
    /// ``PageOrigin``.
    package var developer: Viewer
    package var origin: PageOrigin
    /// Whether purchases are made in the simulator: then the navigation leads to the phone.
    package var isSimulated: Bool

    package init(developer: Viewer, isSimulated: Bool = false) {
        self.developer = developer
        self.isSimulated = isSimulated
        origin = .loopback
    }

    /// The developer at this machine, who may do everything.
    ///
    /// - Parameter random: two random numbers, from which the token of forms is made.
    package static func developer(random: (UInt64, UInt64)) -> Self {
        let token = [random.0, random.1].map { number in
            withUnsafeBytes(of: number) { Hexadecimal.text($0) }
        }.joined()
        return Self(
            developer: Viewer(name: "developer", role: .admin, csrf: token), isSimulated: true)
    }
}

/// Who has sent a request, and what they may do for one app.
struct Visit: Sendable {
    var viewer: Viewer
}
