import Perennial
import PerennialUI
import SwiftUI

/// The headline, and each product with its price and its button.
struct ListScreen: View {
    let rage: RageShop
    @Binding var account: String?
    @State private var paywall: Perennial.PaywallContent?

    var body: some View {
        List {
            Section {
                ForEach(paywall?.rows ?? []) { row in
                    NavigationLink(destination: ProductScreen(rage: rage, row: row)) {
                        RowView(row: row)
                    }
                }
            } header: {
                Perennial.AccessHeadline(RageShop.placement)
            }
            Perennial.RestoreButton()
            Button("Log out") { Task { await logOut() } }
        }
        .navigationTitle("In-App Rage")
        .task { await follow() }
    }

    /// Draws the list again after each change: a purchase, a refund, or a change on another phone.
    private func follow() async {
        for await _ in rage.perennial.changes {
            if let newest = try? await rage.list() { paywall = newest }
        }
    }

    private func logOut() async {
        await rage.logOut()
        account = nil
    }
}

struct RowView: View {
    let row: Perennial.PaywallContent.Row

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(row.title)
                Text(row.terms ?? row.price).font(.caption)
                if let status = row.status { Text(status).font(.caption) }
                if let disclosure = row.disclosure { Text(disclosure).font(.caption2) }
            }
            Spacer()
            Perennial.BuyButton(row)
        }
    }
}
