import Foundation
import Perennial
import PerennialTesting

// An app that runs as a separate process, which a test kills:
//
//     KilledApp SIMULATOR SERVER KEY DEVICE ACCOUNT FOLDER CUSTOMER [PRODUCT]
//
// With PRODUCT, the app buys this product, and prints `tap` before and `finished` after the
// purchase. Without PRODUCT, the app finishes the transactions of an earlier process, and prints
// `done`.

/// The maximum number of times that the app comes to the foreground to finish its transactions.
let foregroundsMax = 100

/// Writes a line. Does not use `print`, because a killed process loses the buffer of `print`.
func say(_ word: String) {
    FileHandle.standardOutput.write(Data("\(word)\n".utf8))
}

let words = Array(CommandLine.arguments.dropFirst())
guard words.count >= 7, let simulator = URL(string: words[0]), let server = URL(string: words[1])
else {
    preconditionFailure("KilledApp SIMULATOR SERVER KEY DEVICE ACCOUNT FOLDER CUSTOMER [PRODUCT]")
}
let world = try World.connect(simulator: simulator, server: server, key: words[2])
let device = try await world.device(
    withID: words[3], of: words[4], folder: URL(fileURLWithPath: words[5]))
let perennial = device.perennial { $0.customer = words[6] }
await perennial.known(withinSeconds: 10)
let product = words.count > 7 ? words[7] : nil
if let product {
    say("tap")
    _ = try? await perennial.purchase(.init(rawValue: product))
}
for _ in 0..<foregroundsMax {
    if try await device.unfinished() == 0 { break }
    await perennial.enterForeground()
}
say(product == nil ? "done" : "finished")
await world.stop()
