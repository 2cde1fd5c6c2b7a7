#if canImport(os)
    internal import os
#endif

/// An interval that Instruments shows under the subsystem `perennial`. The interval has a name and
/// no values.
///
/// On systems without `os`, such as Linux, the type is empty and does nothing.
struct SignpostInterval {
    #if canImport(os)
        private static let signposter = OSSignposter(
            subsystem: "perennial", category: "intervals")

        private let name: StaticString
        private let state: OSSignpostIntervalState
    #endif

    /// Begins the interval. Intervals with the same name may overlap.
    init(_ name: StaticString) {
        #if canImport(os)
            self.name = name
            let id = Self.signposter.makeSignpostID()
            state = Self.signposter.beginInterval(name, id: id)
        #endif
    }

    /// Ends the interval. Call this function once.
    func close() {
        #if canImport(os)
            Self.signposter.endInterval(name, state)
        #endif
    }
}

#if canImport(os)
    // Unchecked: nothing here changes. The state is only passed back to the signposter, and another
    // thread may end the interval.
    extension SignpostInterval: @unchecked Sendable {}
#else
    extension SignpostInterval: Sendable {}
#endif
