#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// The balance of a wallet, such as "Times remaining: 3". Until the balance is known, the
        /// view shows a spinner.
        public struct WalletLabel: View {
            private let wallet: WalletID
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale

            public init(_ wallet: WalletID) { self.wallet = wallet }

            public var body: some View {
                let wallet = model.perennial.wallet(wallet)
                if wallet.isKnown {
                    // A negative balance is shown as zero.
                    let count = max(0, wallet.balance)
                    Text(verbatim: Wording(locale: locale).text(.timesRemaining, count: count))
                } else {
                    ProgressView()
                }
            }
        }
    }
#endif
