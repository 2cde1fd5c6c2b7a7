#if canImport(SwiftUI)
    import Foundation
    import Perennial
    import SwiftUI

    extension View {
        /// Shows a sentence in an alert until the customer closes the alert.
        func notice(_ notice: Binding<String?>, _ wording: Wording) -> some View {
            alert(
                Text(verbatim: notice.wrappedValue ?? ""),
                isPresented: Binding(
                    get: { notice.wrappedValue != nil },
                    set: { if !$0 { notice.wrappedValue = nil } })
            ) {
                Button(wording.text(.done), role: .cancel) { notice.wrappedValue = nil }
            }
        }
    }
#endif
