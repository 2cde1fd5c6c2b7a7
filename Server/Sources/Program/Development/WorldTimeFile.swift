import AppStoreFormats
import Simulator
import Synchronization

/// Saves the virtual time of a development world before the clock advances. So the database never
/// contains anything later than the start of the next world.
final class WorldTimeFile: Sendable {
    private let shop: DevShop
    private let saved: Mutex<DevShop.World>

    /// - Parameter world: the world that is already saved.
    init(_ world: DevShop.World, in shop: DevShop) {
        self.shop = shop
        saved = Mutex(world)
    }

    /// Saves the time if it is later than the saved time. An earlier time is not saved: a new world
    /// can set its time back, but the database still contains later data.
    func save(until moment: AppStoreDate) throws {
        try saved.withLock { kept in
            var later = kept
            later.now = max(kept.now, moment.milliseconds)
            guard later != kept else { return }
            do { try shop.save(later) } catch {
                throw SimulatorProblem(
                    "time_not_kept", status: 500, "The clock was not changed: \(error)",
                    remedy: "Check that the folder of --data is writable, and try again.")
            }
            kept = later
        }
    }
}
