#if canImport(os)
    internal import os
#endif

/// An interval that Instruments shows under the subsystem `perennial`. It has a name and no values.
///
/// Where there is no `os`, as on Linux, it is empty and does nothing.
struct SignpostInterval {
    #if canImport(os)
        private static let signposter = OSSignposter(
            subsystem: "perennial", category: "intervals")

        private let name: StaticString
        private let state: OSSignpostIntervalState
    #endif

    /// Begins. Intervals of one name may overlap.
    init(_ name: StaticString) {
        #if canImport(os)
            self.name = name
            let id = Self.signposter.makeSignpostID()
            state = Self.signposter.beginInterval(name, id: id)
        #endif
    }

    /// Call it once.
    func close() {
        #if canImport(os)
            Self.signposter.endInterval(name, state)
        #endif
    }
}

#if canImport(os)
    // Unchecked: nothing here changes, and the state is only handed back to the signposter, which
    // may end an interval on another thread than it began on.
    extension SignpostInterval: @unchecked Sendable {}
#else
    extension SignpostInterval: Sendable {}
#endif
