import Perennial
import PerennialUI
import SwiftUI

/// In-App Rage for iOS. Add this folder and `Core` to an app target, with the products Perennial
/// and PerennialUI of this package. Replace the address and the key by those of your server.
@main
struct RageApp: App {
    private let rage = RageShop(
        server: URL(string: "https://iap.example.com")!, key: "pk_your_app_key")

    var body: some Scene {
        WindowGroup {
            RageScreen(rage: rage)
                .perennial(rage.perennial)
        }
    }
}

/// Shows the log-in and, after it, the list.
struct RageScreen: View {
    let rage: RageShop
    @State private var account: String?

    var body: some View {
        NavigationView {
            if account == nil {
                LogInScreen(rage: rage, account: $account)
            } else {
                ListScreen(rage: rage, account: $account)
            }
        }
        .onAppear { account = rage.account }
    }
}
