// In-App Rage in a terminal, against `bin/dev --config Examples/Rage/perennial.yaml`.
// Start it with bin/rage, which sets the environment.

import Foundation
import Perennial
import RageCore
import StoreKit

let environment = ProcessInfo.processInfo.environment
guard let server = URL(string: environment["PERENNIAL_SERVER"] ?? "http://127.0.0.1:8080") else {
    Screen.say("PERENNIAL_SERVER is no address.")
    exit(1)
}
let folder = environment["RAGE_FOLDER"].map { URL(fileURLWithPath: $0, isDirectory: true) }
let menu = Menu(
    RageShop(
        server: server, key: environment["PERENNIAL_KEY"] ?? "pk_dev_rage", folder: folder),
    simulator: SimulatedDevice.current.simulator)
await menu.run()
