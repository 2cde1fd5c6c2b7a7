#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// The access to one entitlement. When it changes, the view is drawn again.
        ///
        ///     @Perennial.Entitled("pro") private var pro
        ///
        /// Needs the modifier ``SwiftUI/View/perennial(_:)`` on a view that contains this view.
        @MainActor
        @propertyWrapper
        public struct Entitled: DynamicProperty {
            private let entitlement: EntitlementID
            @EnvironmentObject private var model: AccessModel

            public init(_ entitlement: EntitlementID) { self.entitlement = entitlement }

            public var wrappedValue: Access { model.perennial[entitlement] }
        }
    }
#endif
