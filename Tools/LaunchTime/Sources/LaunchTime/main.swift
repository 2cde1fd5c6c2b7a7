// Two modes. `prepare`: asks the server, so that there is a state file with a token.
// `measure`: prints the microseconds from `init` to the first answer, and ends.

import Foundation
import Perennial

let arguments = CommandLine.arguments
guard arguments.count == 8 else {
    print("LaunchTime prepare|measure FOLDER SERVER KEY KID X Y")
    exit(2)
}

func microseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1_000_000 + Double(time.tv_nsec) / 1000
}

var configuration = Perennial.Configuration(
    server: URL(string: arguments[3])!, key: arguments[4])
// The usual folder, as most apps have it, in a home of its own.
setenv("XDG_STATE_HOME", arguments[2], 1)
setenv("XDG_CACHE_HOME", arguments[2], 1)
configuration.customer = "anna"
configuration.trustedKeys = [
    Perennial.PublicKey(id: arguments[5], x: arguments[6], y: arguments[7])
]

let start = microseconds()
let perennial = Perennial(configuration)
let isActive = perennial["pro"].isActive
let end = microseconds()

if arguments[1] == "measure" {
    print(Int((end - start).rounded()), isActive ? "open" : "shut")
    exit(0)
}
try await perennial.refresh()
print(perennial["pro"].isActive ? "open" : "shut")
