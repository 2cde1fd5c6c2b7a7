// What our sources import on Linux instead of CryptoKit. Here the stub stands in for both, so that
// a check does not have to build swift-crypto.
@_exported import CryptoKit
