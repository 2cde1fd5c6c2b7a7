@testable import Perennial

extension Perennial {
    /// Nil if a script plays.
    var engine: Engine? {
        switch part {
        case .engine(let engine): engine
        case .script: nil
        }
    }
}
