import ArgumentParser

/// The commands that manage keys.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Manage the keys of apps and servers.",
        subcommands: [
            KeysCreateCommand.self, KeysListCommand.self, KeysRevokeCommand.self,
            KeysRotateCommand.self, KeysRevenueCatCommand.self,
        ])
}
