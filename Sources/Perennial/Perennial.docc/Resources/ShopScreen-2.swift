import Perennial
import PerennialUI
import SwiftUI

struct ShopScreen: View {
    let perennial: Perennial

    var body: some View {
        Perennial.Gate("pro") {
            Text("Every bird, with its song")
        } locked: {
            Text("The first ten birds")
        } waiting: {
            ProgressView()
        }
        .perennialReady()
        .perennial(perennial)
    }
}
