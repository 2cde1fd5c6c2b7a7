import Ledger

// Separates an id from a customer it was added to by mistake.
