import Foundation
import FoundationNetworking
import Perennial
import RageCore
import StoreKit

/// Reads one command from each line until the input ends.
struct Menu {
    private let rage: RageShop
    private let simulator: URL

    init(_ rage: RageShop, simulator: URL) {
        self.rage = rage
        self.simulator = simulator
    }

    func run() async {
        Screen.say("In-App Rage  (ノಠ益ಠ)ノ")
        await rage.perennial.known()
        while let line = Screen.ask(rage.account.map { "\($0)>" } ?? "name, or quit>") {
            guard !line.isEmpty else { continue }
            guard line != "quit" else { return }
            do throws(Perennial.Failure) {
                if rage.account == nil { try await logIn(line) } else { try await obey(line) }
            } catch {
                Screen.say("\(error.localizedDescription) (\(error.code.rawValue))")
            }
        }
    }

    private func logIn(_ name: String) async throws(Perennial.Failure) {
        try await rage.logIn(name)
        try await list()
        Screen.say("  \(Self.help)")
    }

    private static let help =
        "list · buy N · face · read N · restore · time DAYS · log out · quit"

    private func obey(_ line: String) async throws(Perennial.Failure) {
        let words = line.split(separator: " ")
        let number = words.count > 1 ? Int(words[1]) : nil
        switch (words.first ?? "", number) {
        case ("list", _): try await list()
        case ("buy", let number?): try await buy(number)
        case ("face", _): try await look()
        case ("read", let number?): read(number)
        case ("restore", _): try await restore()
        case ("time", let days?): try await pass(days)
        case ("log", _): await rage.logOut()
        default: Screen.say("  \(Self.help)")
        }
    }

    private func list() async throws(Perennial.Failure) {
        if let paywall = try await rage.list() { Screen.show(paywall) }
    }

    private func buy(_ number: Int) async throws(Perennial.Failure) {
        guard let rows = try await rage.list()?.rows, rows.indices.contains(number - 1) else {
            Screen.say("  There is no product \(number).")
            return
        }
        guard rows[number - 1].canBuy else {
            Screen.say("  You have it.")
            return
        }
        let purchase = try await rage.buy(rows[number - 1].id)
        Screen.say("  \(purchase?.outcome.rawValue ?? "")")
        try await list()
    }

    private func look() async throws(Perennial.Failure) {
        let face = try await rage.look()
        Screen.say("  \(face?.drawing ?? "Random faces must be purchased first.")")
        if let label = try await rage.facesLabel() { Screen.say("  \(label)") }
    }

    private func read(_ number: Int) {
        guard Comic.all.indices.contains(number - 1) else {
            for (index, comic) in Comic.all.enumerated() {
                Screen.say("  \(index + 1)  \(comic.title)")
            }
            return
        }
        let comic = Comic.all[number - 1]
        Screen.say("  \(rage.read(comic) ?? "\(comic.title) must be purchased first.")")
    }

    private func restore() async throws(Perennial.Failure) {
        let restoration = try await rage.restore()
        Screen.say("  \(restoration?.outcome.rawValue ?? "")")
        try await list()
    }

    /// Moves the simulator's clock, then refreshes.
    private func pass(_ days: Int) async throws(Perennial.Failure) {
        var request = URLRequest(url: simulator.appendingPathComponent("_sim/clock"))
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"advance": "P\#(days)D"}"#.utf8)
        let answer = try? await URLSession.shared.data(for: request)
        guard (answer?.1 as? HTTPURLResponse)?.statusCode == 200 else {
            Screen.say("  The simulator did not move its clock.")
            return
        }
        try await rage.perennial.refresh()
        try await list()
    }
}
