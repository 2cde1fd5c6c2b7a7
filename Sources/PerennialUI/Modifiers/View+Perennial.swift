#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension View {
        /// For all views of this module below: access, and one look at the store on each return to
        /// the foreground. Put it on the app's root view, once.
        public func perennial(_ perennial: Perennial) -> some View {
            modifier(AccessModifier(perennial))
        }
    }

    private struct AccessModifier: ViewModifier {
        @StateObject private var model: AccessModel
        @Environment(\.scenePhase) private var phase

        init(_ perennial: Perennial) {
            _model = StateObject(wrappedValue: AccessModel(perennial))
        }

        func body(content: Content) -> some View {
            content
                .environmentObject(model)
                .onChange(of: phase) { phase in
                    if phase == .active { model.refresh() }
                }
                .task { await model.follow() }
        }
    }
#endif
