print("perennial")
