@testable import Perennial

extension Perennial {
    /// The engine. Nil for a scripted store.
    var engine: Engine? {
        switch part {
        case .engine(let engine): engine
        case .script: nil
        }
    }
}
