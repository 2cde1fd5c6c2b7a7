import Perennial
import PerennialUI
import SwiftUI

struct ShopScreen: View {
    let perennial: Perennial

    var body: some View {
        Perennial.AccessHeadline()
            .perennialReady()
            .perennial(perennial)
    }
}
