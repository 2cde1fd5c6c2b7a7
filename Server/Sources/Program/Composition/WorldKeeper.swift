import AppStoreFormats
import Simulator
import Synchronization

/// Writes down how far the virtual time of a development world has come, before it goes there: what
/// the database holds is never of later than the next world begins.
final class WorldKeeper: Sendable {
    private let shop: DevShop
    private let kept: Mutex<DevShop.World>

    /// - Parameter world: which is kept already.
    init(_ world: DevShop.World, in shop: DevShop) {
        self.shop = shop
        kept = Mutex(world)
    }

    /// Time can go back, with a new world; the database then still holds what was later.
    func keep(until moment: AppStoreDate) throws {
        try kept.withLock { kept in
            var later = kept
            later.now = max(kept.now, moment.milliseconds)
            guard later != kept else { return }
            do { try shop.keep(later) } catch {
                throw StoreProblem(
                    "time_not_kept", status: 500, "The clock was not moved: \(error)",
                    remedy: "See that the folder of --data can be written to, and try again.")
            }
            kept = later
        }
    }
}
