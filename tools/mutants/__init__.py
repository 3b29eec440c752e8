"""The package broken on purpose, a little at a time: does a test notice?

Each file ``NAME.toml`` here lists small ways to break one model or one part of the package. `trial`
breaks a copy of the package in one of them and runs tests on it.
"""
