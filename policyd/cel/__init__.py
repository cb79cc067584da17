"""The CEL front end: source text to a checked syntax tree to a planned program. Runs when
policies load.
"""
