import Dashboard
import Engine
import Ledger

/// Who looks at the dashboard, and at which app. A server without one has no dashboard.
///
/// The pages are only for this machine: see ``LoopbackOrigin``. Nobody has to sign in, so whoever
/// uses this machine is the viewer.
package struct DashboardAccess: Sendable {
    package var app: AppID
    package var viewer: Viewer
    /// Whether purchases are made in the simulator: then the navigation leads to the phone.
    package var isSimulated: Bool

    package init(app: AppID, viewer: Viewer, isSimulated: Bool = false) {
        self.app = app
        self.viewer = viewer
        self.isSimulated = isSimulated
    }

    /// The developer at this machine, who may do everything.
    ///
    /// - Parameter random: two random numbers, from which the token of forms is made.
    package static func developer(of app: AppID, random: (UInt64, UInt64)) -> Self {
        let token = [random.0, random.1].map { number in
            withUnsafeBytes(of: number) { Hexadecimal.text($0) }
        }.joined()
        return Self(
            app: app, viewer: Viewer(name: "developer", role: .admin, csrf: token),
            isSimulated: true)
    }
}
