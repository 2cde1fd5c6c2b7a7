#if canImport(SwiftUI)
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// The access to one entitlement. The view redraws when it changes.
        ///
        ///     @Perennial.Entitled("pro") private var pro
        ///
        /// Needs ``SwiftUI/View/perennial(_:)`` on a view above.
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
