import AppStoreFormats

/// A change of a subscription's phase or of its renewal setting, with the moment of the change.
/// Recorded because the transactions do not show these changes.
struct ChainStep: Hashable, Sendable {
    /// A phase without its dates.
    enum Stage: Hashable, Sendable {
        case active
        case grace
        case retry
        case ended(ExpirationIntent)
        case revoked
    }

    let at: AppStoreDate
    let stage: Stage
    let continuesRenewing: Bool
}

extension Subscription {
    /// Maximum number of recorded steps. The oldest are dropped first, many at once.
    static let stepsMax = 2000

    /// Records the present phase and renewal, unless the last recorded step has the same.
    mutating func recordStep(at now: AppStoreDate) {
        let step = ChainStep(at: now, stage: stage, continuesRenewing: continuesRenewing)
        if let last = steps.last, last.stage == step.stage,
            last.continuesRenewing == step.continuesRenewing
        {
            return
        }
        if steps.count >= Self.stepsMax { steps.removeFirst(Self.stepsMax / 2) }
        steps.append(step)
    }

    private var stage: ChainStep.Stage {
        switch phase {
        case .active: .active
        case .grace: .grace
        case .retry: .retry
        case .ended(let intent): .ended(intent)
        case .revoked: .revoked
        }
    }
}
