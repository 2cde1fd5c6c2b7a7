import Foundation
import Perennial
import PerennialUI
import SwiftUI

struct ShopScreen: View {
    let perennial: Perennial

    var body: some View {
        Perennial.Gate("pro") {
            Text("Every bird, with its song")
        } locked: {
            Perennial.Paywall(
                "paywall", terms: URL(string: "https://example.com/terms"),
                privacy: URL(string: "https://example.com/privacy")
            ) {
                Text("Hear every bird")
            }
        } waiting: {
            ProgressView()
        }
        .perennialReady()
        .perennial(perennial)
    }
}
