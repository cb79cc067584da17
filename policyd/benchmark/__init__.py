"""What policies cost: the core in this process, and a running server. Imported only for its
commands. Prints nothing.
"""
