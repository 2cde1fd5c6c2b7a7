/// A state, as read from a file.
struct StoredState: Hashable, Sendable {
    /// The state that may be used before the seal is verified. The token is proven by its
    /// signature. The App Store's evidence, the anchor, the closed entitlements and the verdicts
    /// may have been edited, so they must not give access. Without pinned keys the ring is empty.
    private(set) var state: DeviceState
    /// The keys in the file. If the app has pinned keys, the list contains the pinned keys and the
    /// keys that they introduce. Otherwise the keys are not proven until the seal is verified.
    private(set) var keysAsWritten: KeyRing
    /// Whether there is a second file: see ``StateFile/readMore(_:of:code:)``.
    let hasMore: Bool
    private let content: SealedContent
    /// The version of the files from which the state was read.
    var version: UInt8 { content.version }

    init(
        _ content: SealedContent, identity: [UInt8], pinned: [SigningKey]
    ) throws(ByteReader.Damaged) {
        var reader = ByteReader(content.bytes, version: content.version)
        (state, hasMore) = try DeviceState.read(&reader, identity: identity, pinned: pinned)
        guard reader.isAtEnd else { throw ByteReader.Damaged() }
        keysAsWritten = state.keys
        if !state.keys.isPinned { state.keys = KeyRing() }
        self.content = content
    }

    /// The whole state, with trusted evidence. Returns nil if this device did not write the file:
    /// then call ``DeviceState/forgetUnproven()``.
    func proven(by code: MessageCode) -> DeviceState? {
        guard content.isSealed(by: code) else { return nil }
        var proven = state
        proven.keys = keysAsWritten
        proven.storeEvidence.isTrusted = true
        return proven
    }

    mutating func forgetOthers(than customer: String) {
        guard !state.isAnonymous, state.customerID != customer else { return }
        state.forgetCustomer()
    }
}
