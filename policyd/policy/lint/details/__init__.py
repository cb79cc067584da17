"""The details of each rule: why it matters, a wrong and a correct example."""
