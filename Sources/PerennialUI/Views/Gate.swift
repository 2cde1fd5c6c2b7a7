#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// A view that shows its content while an entitlement is open, and the locked view while
        /// the entitlement is shut. Until something is known, it shows a third view, so that a
        /// customer who has paid never sees a paywall.
        public struct Gate<Content: View, Locked: View, Waiting: View>: View {
            private let access: Entitled
            private let content: Content
            private let locked: Locked
            private let waiting: Waiting

            public init(
                _ entitlement: EntitlementID, @ViewBuilder content: () -> Content,
                @ViewBuilder locked: () -> Locked, @ViewBuilder waiting: () -> Waiting
            ) {
                access = Entitled(entitlement)
                self.content = content()
                self.locked = locked()
                self.waiting = waiting()
            }

            public var body: some View {
                if access.wrappedValue.isActive {
                    content
                } else if access.wrappedValue.isKnown {
                    locked
                } else {
                    waiting
                }
            }
        }
    }

    extension Perennial.Gate where Waiting == ProgressView<EmptyView, EmptyView> {
        /// Creates a gate that shows a spinner until something is known.
        public init(
            _ entitlement: Perennial.EntitlementID, @ViewBuilder content: () -> Content,
            @ViewBuilder locked: () -> Locked
        ) {
            self.init(entitlement, content: content, locked: locked) { ProgressView() }
        }
    }
#endif
