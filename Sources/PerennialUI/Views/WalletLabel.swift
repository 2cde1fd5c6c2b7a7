#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// What is left in a wallet: "Times remaining: 3".
        public struct WalletLabel: View {
            private let wallet: WalletID
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale

            public init(_ wallet: WalletID) { self.wallet = wallet }

            public var body: some View {
                let balance = model.perennial.wallet(wallet).balance
                // A debt is nothing that remains.
                Text(
                    verbatim: Wording(locale: locale).text(.timesRemaining, count: max(0, balance)))
            }
        }
    }
#endif
