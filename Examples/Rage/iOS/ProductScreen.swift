import Perennial
import SwiftUI

/// The screen of a comic, or of the faces.
struct ProductScreen: View {
    let rage: RageShop
    let row: Perennial.PaywallContent.Row

    var body: some View {
        Group {
            if let comic = Comic.all.first(where: { $0.id == row.id }) {
                Text(rage.read(comic) ?? "\(comic.title) must be purchased first.")
            } else {
                FacesView(rage: rage)
            }
        }
        .padding()
        .navigationTitle(row.title)
    }
}

/// A button that shows one face for each tap. The label shows how many faces remain, or how long
/// the subscription lasts.
struct FacesView: View {
    let rage: RageShop
    @State private var drawing = ""
    @State private var label = ""

    var body: some View {
        VStack {
            Text(drawing).font(.largeTitle)
            Button("Random face") { Task { await look() } }
            Text(label)
        }
        .task { await describe() }
    }

    private func look() async {
        do {
            drawing = try await rage.look()?.drawing ?? "Random faces must be purchased first."
        } catch {
            drawing = error.localizedDescription
        }
        await describe()
    }

    private func describe() async {
        label = (try? await rage.facesLabel()) ?? ""
    }
}
