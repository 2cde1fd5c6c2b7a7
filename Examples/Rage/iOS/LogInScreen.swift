import Perennial
import SwiftUI

/// The log-in of the example, for which a name is enough. A real app uses its own log-in, and
/// passes the id of the account.
struct LogInScreen: View {
    let rage: RageShop
    @Binding var account: String?
    @State private var name = ""
    @State private var problem: String?

    var body: some View {
        Form {
            TextField("Name", text: $name)
            Button("Log in") { Task { await logIn() } }
                .disabled(name.isEmpty)
            if let problem { Text(problem).foregroundColor(.red) }
        }
        .navigationTitle("In-App Rage")
    }

    private func logIn() async {
        do {
            try await rage.logIn(name)
            account = rage.account
        } catch {
            problem = error.localizedDescription
        }
    }
}
