// Follows "Keychain services" in Apple's documentation of Security. Core Foundation's types are
// classes here, and bridge by `as`, through NSString and its neighbours, only on Apple's systems:
// so our sources make their queries with `[CFString: Any]` and cast them in one place.

import Foundation

public typealias OSStatus = Int32
public typealias CFTypeRef = AnyObject
public typealias CFString = NSString
public typealias CFDictionary = NSDictionary

private func declarationOnly() -> Never {
    preconditionFailure("a stub has declarations only")
}

public func SecItemAdd(
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { declarationOnly() }

public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { declarationOnly() }

public func SecItemUpdate(
    _ query: CFDictionary, _ attributesToUpdate: CFDictionary
) -> OSStatus { declarationOnly() }

public func SecItemDelete(_ query: CFDictionary) -> OSStatus { declarationOnly() }

public var errSecSuccess: OSStatus { 0 }
public var errSecDuplicateItem: OSStatus { -25299 }
public var errSecItemNotFound: OSStatus { -25300 }
public var errSecInteractionNotAllowed: OSStatus { -25308 }
public var errSecMissingEntitlement: OSStatus { -34018 }

public var kSecClass: CFString { declarationOnly() }
public var kSecClassGenericPassword: CFString { declarationOnly() }
public var kSecAttrService: CFString { declarationOnly() }
public var kSecAttrAccount: CFString { declarationOnly() }
public var kSecAttrAccessGroup: CFString { declarationOnly() }
public var kSecAttrAccessible: CFString { declarationOnly() }
public var kSecAttrAccessibleAfterFirstUnlock: CFString { declarationOnly() }
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { declarationOnly() }
public var kSecAttrSynchronizable: CFString { declarationOnly() }
public var kSecUseDataProtectionKeychain: CFString { declarationOnly() }
public var kSecValueData: CFString { declarationOnly() }
public var kSecReturnData: CFString { declarationOnly() }
public var kSecMatchLimit: CFString { declarationOnly() }
public var kSecMatchLimitOne: CFString { declarationOnly() }
